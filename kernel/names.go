package kernel

// Name is the name of a kernel. Not every step has every kernel.
type Name string

// The kernels, with distances r = x − y.
const (
	Gaussian           Name = "gaussian"            // exp(−γ‖r‖₂²)
	Laplacian          Name = "laplacian"           // exp(−γ‖r‖₁)
	Cauchy             Name = "cauchy"              // ∏ 1/(1 + γ²rⱼ²)
	Exponential        Name = "exponential"         // exp(−γ‖r‖₂)
	Matern             Name = "matern"              // Matérn of smoothness ν
	RationalQuadratic  Name = "rational_quadratic"  // (1 + γ‖r‖₂²/a)^−a
	PoweredExponential Name = "powered_exponential" // exp(−(γ‖r‖₂)^p), 0 < p ≤ 2
	Polynomial         Name = "polynomial"          // (γx·y + c₀)^degree, of exact kernels
	Cosine             Name = "cosine"              // x·y/(‖x‖‖y‖), of exact kernels
	Chi2               Name = "chi2"                // exp(−γ Σ rⱼ²/(xⱼ + yⱼ)) of x, y ≥ 0, of exact kernels
	Sigmoid            Name = "sigmoid"             // tanh(γx·y + c₀), of support vector machines
	Hyperbolic         Name = "hyperbolic"          // of transformer.Binning
	Triangular         Name = "triangular"          // of transformer.Binning
	Smooth             Name = "smooth"              // of transformer.Binning
	Linear             Name = "linear"              // x·y
	Custom             Name = "custom"              // a spectral density of the program, of transformer.RFF and Binning
	Precomputed        Name = "precomputed"         // the rows are kernel values with the training rows
)
