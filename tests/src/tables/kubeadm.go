package main

import (
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kubeadm/app/features"
)

func main() {
	gates := map[featuregate.Feature]featuregate.FeatureSpec{}
	for name, feature := range features.InitFeatureGates {
		gates[featuregate.Feature(name)] = feature.FeatureSpec
	}
	printGates("kubeadm", gates, nil)
}
