// What a program of Kubernetes knows, line by line: its options with their types, its feature gates, the fields of its configuration.
//
// Compiled together with the file of one program, in the Go module of a version (tests/make/tables.sh): so it is the program's own code that
// is asked, and not its documentation.
package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/featuregate"
)

// Options that are the program's own to say something about itself, and end it.
var ending = map[string]bool{"help": true, "version": true}

func printFlags(program string, flags *pflag.FlagSet) {
	flags.VisitAll(func(flag *pflag.Flag) {
		if !ending[flag.Name] {
			fmt.Printf("flag %s %s %s\n", program, flag.Name, strings.ReplaceAll(flag.Value.Type(), " ", ""))
		}
	})
}

// A gate as it is in this version; `needs` names those without which it can't be on.
func printGates(program string, gates map[featuregate.Feature]featuregate.FeatureSpec, needs map[featuregate.Feature][]featuregate.Feature) {
	for name, spec := range gates {
		stage := strings.ToLower(string(spec.PreRelease))
		if spec.PreRelease == featuregate.GA {
			stage = "ga"
		}
		locked := "free"
		if spec.LockToDefault {
			locked = "locked"
		}
		var others []string
		for _, other := range needs[name] {
			others = append(others, string(other))
		}
		sort.Strings(others)
		fmt.Printf("gate %s %s %t %s %s %s\n", name, stage, spec.Default, locked, strings.Join(append([]string{"-"}, others...), ","), program)
	}
}

func printNames(what string, names []string) {
	for _, name := range names {
		fmt.Printf("%s %s\n", what, name)
	}
}

// The fields of a configuration, with `[]` for the items of a list and `{}` for the values of a map.
func printFields(kind string, of reflect.Type) {
	printStruct(kind, "", of)
}

var (
	duration     = reflect.TypeOf(metav1.Duration{})
	ownJSON      = reflect.TypeOf((*json.Unmarshaler)(nil)).Elem()
	ownText      = reflect.TypeOf((*encoding.TextUnmarshaler)(nil)).Elem()
	ofEveryThing = map[string]bool{"kind": true, "apiVersion": true}
)

func printStruct(kind, path string, of reflect.Type) {
	for index := 0; index < of.NumField(); index++ {
		field := of.Field(index)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if field.Anonymous && (name == "" || strings.Contains(options, "inline")) {
			printStruct(kind, path, inner)
			continue
		}
		if name == "-" || name == "" || (path == "" && ofEveryThing[name]) {
			continue
		}
		full := name
		if path != "" {
			full = path + "." + name
		}
		printField(kind, full, inner)
	}
}

func printField(kind, path string, of reflect.Type) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	says := func(what string) { fmt.Printf("field %s %s %s\n", kind, path, what) }
	switch {
	case of == duration:
		says("duration")
	case of.String() == "resource.Quantity":
		says("quantity")
	case of.String() == "v1.Time":
		says("time")
	case reflect.PointerTo(of).Implements(ownJSON) || reflect.PointerTo(of).Implements(ownText):
		says("any")
	case of.Kind() == reflect.Struct:
		says("struct")
		printStruct(kind, path, of)
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8:
		says("string")
	case of.Kind() == reflect.Slice:
		says("list")
		printField(kind, path+"[]", of.Elem())
	case of.Kind() == reflect.Map:
		says("map")
		printField(kind, path+"{}", of.Elem())
	case of.Kind() == reflect.Interface:
		says("any")
	default:
		says(of.Kind().String())
	}
}
