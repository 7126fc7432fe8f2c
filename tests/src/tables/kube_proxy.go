package main

import (
	"reflect"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	configuration "k8s.io/kube-proxy/config/v1alpha1"
	"k8s.io/kubernetes/cmd/kube-proxy/app"
)

func main() {
	printFlags("kube-proxy", app.NewProxyCommand().Flags())
	gate := utilfeature.DefaultMutableFeatureGate
	printGates("kube-proxy", gate.GetAll(), gate.Dependencies())
	printFields("KubeProxyConfiguration", reflect.TypeOf(configuration.KubeProxyConfiguration{}))
}
