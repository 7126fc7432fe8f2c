package main

import (
	"reflect"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	configuration "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	printFlags("kube-scheduler", app.NewSchedulerCommand().Flags())
	gate := utilfeature.DefaultMutableFeatureGate
	printGates("kube-scheduler", gate.GetAll(), gate.Dependencies())
	printFields("KubeSchedulerConfiguration", reflect.TypeOf(configuration.KubeSchedulerConfiguration{}))
}
