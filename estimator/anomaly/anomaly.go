// Package anomaly tells rows that are unlike the others, without targets.
//
//	one_class  [OneClass]  *[FittedOneClass]  a plane between the rows and the origin of their features
//
// The specs are estimators of the task anomaly: Fit ignores the targets of the data, which may be nil, and
// Predict returns 1 for a row unlike the others and 0 for a usual one; estimator.AnomalyScorer says by how much.
package anomaly
