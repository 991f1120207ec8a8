// Package anomaly detects anomalous rows without targets.
//
//	one_class  [OneClass]  *fittedOneClass  a plane between the rows and the origin of their features
//
// The specs are estimators of the task anomaly: Fit ignores the targets of the data, which may be
// nil, and Predict returns 1 for anomalies and 0 for inliers; the output AnomalyScores has their
// scores.
package anomaly
