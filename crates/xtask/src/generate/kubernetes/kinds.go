// Lists the kinds of all API versions that kube-apiserver knows, enabled by default or not.
package main

import (
	"reflect"
	"sort"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Stable versions come first, so that shared messages are named after them.
var groupVersions = []string{
	"v1", "meta.k8s.io/v1", "apps/v1", "autoscaling/v1", "autoscaling/v2", "batch/v1", "policy/v1",
	"admissionregistration.k8s.io/v1", "apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1",
	"authentication.k8s.io/v1", "authorization.k8s.io/v1", "certificates.k8s.io/v1", "coordination.k8s.io/v1",
	"discovery.k8s.io/v1", "events.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1", "networking.k8s.io/v1",
	"node.k8s.io/v1", "rbac.authorization.k8s.io/v1", "resource.k8s.io/v1", "scheduling.k8s.io/v1",
	"storage.k8s.io/v1",
	"admissionregistration.k8s.io/v1beta1", "authentication.k8s.io/v1beta1", "certificates.k8s.io/v1beta1",
	"coordination.k8s.io/v1beta1", "flowcontrol.apiserver.k8s.io/v1beta3", "networking.k8s.io/v1beta1",
	"resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1", "storage.k8s.io/v1beta1",
	"storagemigration.k8s.io/v1beta1",
	"admissionregistration.k8s.io/v1alpha1", "authentication.k8s.io/v1alpha1", "certificates.k8s.io/v1alpha1",
	"coordination.k8s.io/v1alpha2", "internal.apiserver.k8s.io/v1alpha1", "resource.k8s.io/v1alpha3",
	"scheduling.k8s.io/v1alpha2", "storage.k8s.io/v1alpha1",
}

// Options and discovery documents are registered in every API version.
const anyVersion = "*"

var unversioned = map[string]bool{
	"APIGroup": true, "APIGroupList": true, "APIResourceList": true, "APIVersions": true, "CreateOptions": true,
	"DeleteOptions": true, "GetOptions": true, "ListOptions": true, "PatchOptions": true, "Status": true,
	"UpdateOptions": true,
}

type kind struct {
	apiVersion, name string
	goType           reflect.Type
}

func knownScheme() *runtime.Scheme {
	known := runtime.NewScheme()
	must(scheme.AddToScheme(known))
	must(apiextensions.AddToScheme(known))
	must(apiregistration.AddToScheme(known))
	must(meta.AddMetaToScheme(known))
	meta.AddToGroupVersion(known, meta.SchemeGroupVersion)
	return known
}

// Returns every kind that has a protobuf encoding, in the order of groupVersions, then by name.
func kinds(known *runtime.Scheme) []kind {
	var found []kind
	for _, apiVersion := range groupVersions {
		gv, err := schema.ParseGroupVersion(apiVersion)
		must(err)
		types := known.KnownTypes(gv)
		if len(types) == 0 {
			fail("%s has no kinds", apiVersion)
		}
		names := make([]string, 0, len(types))
		for name := range types {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			anywhere := unversioned[name]
			if name == "WatchEvent" || !hasProtobuf(types[name]) || anywhere && apiVersion != "v1" {
				continue
			}
			entry := kind{apiVersion, name, types[name]}
			if anywhere {
				entry.apiVersion = anyVersion
			}
			found = append(found, entry)
		}
	}
	sort.SliceStable(found, func(a, b int) bool { return found[a].apiVersion == anyVersion && found[b].apiVersion != anyVersion })
	return found
}

type unmarshaler interface{ Unmarshal([]byte) error }

func hasProtobuf(goType reflect.Type) bool {
	return reflect.PointerTo(goType).Implements(reflect.TypeFor[unmarshaler]())
}
