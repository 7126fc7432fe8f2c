package main

import (
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	printFlags("kube-controller-manager", app.NewControllerManagerCommand().Flags())
	gate := utilfeature.DefaultMutableFeatureGate
	printGates("kube-controller-manager", gate.GetAll(), gate.Dependencies())
}
