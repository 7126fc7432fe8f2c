package main

import (
	"context"
	"reflect"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	configuration "k8s.io/kubelet/config/v1beta1"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
)

func main() {
	// The kubelet reads its options itself, out of a set of its own, which the command does not show.
	app.NewKubeletCommand(context.Background())
	flags := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	options.NewKubeletFlags().AddFlags(flags)
	fields, err := options.NewKubeletConfiguration()
	if err != nil {
		panic(err)
	}
	options.AddKubeletConfigFlags(flags, fields)
	options.AddGlobalFlags(flags)
	printFlags("kubelet", flags)
	gate := utilfeature.DefaultMutableFeatureGate
	printGates("kubelet", gate.GetAll(), gate.Dependencies())
	printFields("KubeletConfiguration", reflect.TypeOf(configuration.KubeletConfiguration{}))
}
