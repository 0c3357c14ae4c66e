// Pairs of a protobuf body and the JSON of the object that the API server decodes from it.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"sigs.k8s.io/randfill"
)

type pairWriter struct {
	out        *bufio.Writer
	known      *runtime.Scheme
	serializer *protobuf.Serializer
	random     *rand.Rand
}

// Writes one pair per line: the body in base64, a tab, the JSON.
func writePairs(out *bufio.Writer, seed int64, rounds int) {
	known := knownScheme()
	writer := pairWriter{out, known, protobuf.NewSerializer(known, known), rand.New(rand.NewSource(seed))}
	if rounds == 0 {
		writer.writeCover(seed)
	}
	filler := newFiller(seed, 0.4)
	for range rounds {
		for _, kind := range kinds(known) {
			writer.write(writer.filled(kind, filler))
		}
	}
}

// Writes one small object of each kind, then those that set many new fields for their size, until every field is set.
func (writer *pairWriter) writeCover(seed int64) {
	seen := map[string]bool{}
	sparse, dense := newFiller(seed, 0.9), newFiller(seed, 0.6)
	for _, kind := range kinds(writer.known) {
		object := writer.filled(kind, sparse)
		markSet(reflect.ValueOf(object), seen)
		writer.write(object)
	}
	for least := 64; least > 0; least /= 2 {
		for range 60 {
			for _, kind := range kinds(writer.known) {
				writer.writeIfFresh(writer.filled(kind, dense), seen, least)
			}
		}
	}
}

func (writer *pairWriter) writeIfFresh(object runtime.Object, seen map[string]bool, least int) {
	found := map[string]bool{}
	markSet(reflect.ValueOf(object), found)
	for field := range found {
		if seen[field] {
			delete(found, field)
		}
	}
	if len(found) >= least && len(writer.encoded(object)) <= 60*len(found)+300 {
		maps.Copy(seen, found)
		writer.write(object)
	}
}

// Marks the fields of a message that are not zero.
func markSet(value reflect.Value, seen map[string]bool) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			markSet(value.Elem(), seen)
		}
	case reflect.Slice:
		for index := range value.Len() {
			markSet(value.Index(index), seen)
		}
	case reflect.Map:
		for _, key := range value.MapKeys() {
			markSet(value.MapIndex(key), seen)
		}
	case reflect.Struct:
		goType := value.Type()
		for index := range goType.NumField() {
			if goType.Field(index).Tag.Get("protobuf") != "" && !value.Field(index).IsZero() {
				// Most versions of a type share one message of the table.
				seen[goType.Name()+"."+goType.Field(index).Name] = true
				markSet(value.Field(index), seen)
			}
		}
	}
}

func (writer *pairWriter) filled(kind kind, filler *randfill.Filler) runtime.Object {
	apiVersion := kind.apiVersion
	if apiVersion == anyVersion {
		apiVersion = groupVersions[writer.random.Intn(len(groupVersions))]
	}
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind.name)
	object, err := writer.known.New(gvk)
	must(err)
	filler.Fill(object)
	object.GetObjectKind().SetGroupVersionKind(gvk)
	return object
}

func (writer *pairWriter) encoded(object runtime.Object) []byte {
	var body bytes.Buffer
	must(writer.serializer.Encode(object, &body))
	return body.Bytes()
}

func (writer *pairWriter) write(object runtime.Object) {
	body := writer.encoded(object)
	decoded, _, err := writer.serializer.Decode(body, nil, nil)
	must(err)
	shown, err := json.Marshal(decoded)
	must(err)
	fmt.Fprintf(writer.out, "%s\t%s\n", base64.StdEncoding.EncodeToString(body), shown)
}
