// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Types of events. A client treats ADDED and MODIFIED alike.
const (
	eventAdded    = "ADDED"
	eventModified = "MODIFIED"
	eventBookmark = "BOOKMARK"
)

func eventTypeOf(initial bool) string {
	if initial {
		return eventAdded
	}
	return eventModified
}

// object is a stored object: its JSON, or its protobuf message.
type object struct {
	raw     []byte
	version uint64
}

// marshaler is an object that has a protobuf message.
type marshaler interface{ Marshal() ([]byte, error) }

func encode(k *kind, o client.Object) ([]byte, error) {
	if k.form != protobuf {
		o.GetObjectKind().SetGroupVersionKind(k.sent())
		return json.Marshal(o)
	}
	message, ok := o.(marshaler)
	if !ok {
		return nil, fmt.Errorf("%T has no protobuf message", o)
	}
	return message.Marshal()
}

// envelope returns the object as a response.
func (o *object) envelope(k *kind) []byte {
	if k.form != protobuf {
		return o.raw
	}
	return wrap(k.GroupVersionKind, o.raw)
}

// wrap returns a message in the envelope that begins every response in protobuf.
func wrap(gvk schema.GroupVersionKind, raw []byte) []byte {
	apiVersion, name := gvk.ToAPIVersionAndKind()
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: name}, Raw: raw}
	message, err := unknown.Marshal()
	if err != nil {
		panic(err) // impossible, because Marshal writes into memory
	}
	return append([]byte("k8s\x00"), message...)
}

// eventOf returns an event of a watch, with its frame.
func eventOf(k *kind, eventType string, envelope []byte) []byte {
	if k.form != protobuf {
		out := make([]byte, 0, len(envelope)+40)
		out = append(out, `{"type":"`+eventType+`","object":`...)
		out = append(out, envelope...)
		return append(out, "}\n"...)
	}
	event := metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: envelope}}
	message, err := event.Marshal()
	if err != nil {
		panic(err) // impossible, because Marshal writes into memory
	}
	out := binary.BigEndian.AppendUint32(make([]byte, 0, len(message)+4), uint32(len(message)))
	return append(out, message...)
}

// writeBookmark writes the event after the initial state of a watch.
func writeBookmark(w io.Writer, k *kind, version uint64) error {
	mark := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: strconv.FormatUint(version, 10), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
	// The first field of the protobuf message of every kind is its metadata.
	raw, err := encode(k, mark)
	if err != nil {
		return err
	}
	_, err = w.Write(eventOf(k, eventBookmark, (&object{raw: raw}).envelope(k)))
	return err
}

// writeList writes a list of objects as a response.
func writeList(w io.Writer, k *kind, objects []*object, version uint64) error {
	listKind := k.sent().GroupVersion().WithKind(k.sent().Kind + "List")
	if k.form == protobuf {
		// Every list has its metadata in field 1 and its items in field 2.
		meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(version, 10)}
		metadata, err := meta.Marshal()
		if err != nil {
			return err
		}
		message := appendField(nil, 1, metadata)
		for _, o := range objects {
			message = appendField(message, 2, o.raw)
		}
		_, err = w.Write(wrap(listKind, message))
		return err
	}
	apiVersion, name := listKind.ToAPIVersionAndKind()
	out := bufio.NewWriterSize(w, 64<<10)
	_, _ = fmt.Fprintf(out, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"%d"},"items":[`, apiVersion, name, version)
	for i, o := range objects {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.Write(o.raw)
	}
	_, _ = out.WriteString("]}")
	return out.Flush() // returns the first error of all writes above
}

// appendField appends a length-delimited field of a protobuf message.
func appendField(to []byte, number uint64, value []byte) []byte {
	const lengthDelimited = 2
	to = binary.AppendUvarint(to, number<<3|lengthDelimited)
	to = binary.AppendUvarint(to, uint64(len(value)))
	return append(to, value...)
}
