package main

import (
	extensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/cli/flag"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/kubeapiserver/options"

	"k8s.io/apimachinery/pkg/runtime"
)

func main() {
	printFlags("kube-apiserver", app.NewAPIServerCommand().Flags())
	gate := utilfeature.DefaultMutableFeatureGate
	printGates("kube-apiserver", gate.GetAll(), gate.Dependencies())
	printNames("plugin", options.AllOrderedPlugins)
	// Every program of Kubernetes takes the same.
	printNames("cipher", flag.TLSCipherPossibleValues())
	printGroups(legacyscheme.Scheme, extensions.Scheme, aggregator.Scheme)
}

// Versions of the groups of the API.
func printGroups(schemes ...*runtime.Scheme) {
	for _, scheme := range schemes {
		for _, version := range scheme.PrioritizedVersionsAllGroups() {
			if version.Group != "" {
				printNames("group", []string{version.String()})
			}
		}
	}
}
