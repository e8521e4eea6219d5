// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pbwire_test

import (
	"bytes"
	"encoding/json"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
)

// exampleFields are the fields of a message with every type of field.
var exampleFields = pbwire.Message{
	1: pbwire.Bytes("text"),
	2: pbwire.Varint("number"),
	3: pbwire.Repeated("things"),
	4: pbwire.Bytes("struct"),
	5: pbwire.Bytes("value"),
	6: pbwire.Bytes("time"),
}

type read struct {
	Text   string
	Number int
	Things int
	Struct a2a.Object
	Value  a2a.Value
	Time   time.Time
}

func readThing(text []byte) (read, error) {
	r := pbwire.New(text)
	got := readFrom(r)
	return got, r.Err()
}

func readFrom(r *pbwire.Reader) read {
	var got read
	for f := range r.Fields(exampleFields) {
		switch f {
		case 1:
			got.Text = r.String()
		case 2:
			got.Number = r.Int()
		case 3:
			if r.Within(3) {
				got.Things += 1 + readFrom(r).Things
			}
		case 4:
			got.Struct = r.Object()
		case 5:
			got.Value = r.Value()
		case 6:
			got.Time = r.Time()
		}
	}
	return got
}

func field(number protowire.Number, content ...byte) []byte {
	return pbwire.AppendBytes(nil, number, content)
}

func join(all ...[]byte) []byte { return bytes.Join(all, nil) }

// nestedLists returns a Value of lists in lists.
func nestedLists(depth int) []byte {
	var v []byte
	for range depth {
		v = field(6, field(1, v...)...)
	}
	return v
}

func double(f float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(nil, 2, protowire.Fixed64Type), math.Float64bits(f))
}

// manyEntries returns the members of a Struct, with different names.
func manyEntries(count int) []byte {
	var all []byte
	for i := range count {
		all = append(all, field(1, field(1, []byte(strconv.FormatInt(int64(i), 36))...)...)...)
	}
	return all
}

func TestReaderRejectsInvalidMessages(t *testing.T) {
	entry := func(name string, value []byte) []byte {
		return field(1, join(field(1, []byte(name)...), field(2, value...))...)
	}
	tests := map[string]struct {
		text []byte
		want string
	}{
		"a tag that ends":                   {[]byte{0x80}, "Invalid protobuf payload"},
		"field 0":                           {[]byte{0x02, 0x00}, "Invalid protobuf payload"},
		"a field beyond all":                {[]byte{0x80, 0xe5, 0xff, 0xff, 0x30, 0x00}, "Invalid protobuf payload"},
		"a length beyond the message":       {[]byte{0x0a, 0x05, 'x'}, "Invalid protobuf payload"},
		"a huge length":                     {[]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, "Invalid protobuf payload"},
		"an unknown field cut":              {[]byte{0xfa, 0x07, 0x05}, "Invalid protobuf payload"},
		"a group that is open":              {[]byte{0x7b}, "Invalid protobuf payload"},
		"inside":                            {field(3, 0x80), "Invalid protobuf payload"},
		"UTF-8":                             {field(1, 0xff), "text: is not valid UTF-8"},
		"twice":                             {join(field(1, 'a'), field(1, 'b')), "text: must not be set twice"},
		"another type":                      {protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1), "text: has the wrong wire type"},
		"bytes for a number":                {field(2, 1), "number: has the wrong wire type"},
		"33 bits":                           {protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 1<<32), "number: must be an integer of 32 bits"},
		"one too many":                      {join(field(3), field(3), field(3), field(3)), "things[3]: exceeds the limit of 3 elements"},
		"invalid UTF-8 in a nested message": {field(3, join(field(3), field(3, field(1, 0xff)...))...), "things[0].things[1].text: is not valid UTF-8"},
		"a name twice":                      {field(4, join(entry("a", nil), entry("a", nil))...), "struct: must not have a duplicate name"},
		"a name that is not UTF-8":          {field(4, entry("\xff", nil)...), "struct: is not valid UTF-8"},
		"two names of a member":             {field(4, field(1, join(field(1, 'a'), field(1, 'b'))...)...), "struct: must not have a member with two keys or two values"},
		"a name twice, late":                {field(4, join(manyEntries(100), entry("0", nil))...), "struct: must not have a duplicate name"},
		"a name twice, inside":              {field(4, entry("a", field(5, join(entry("b", nil), entry("b", nil))...))...), "struct: must not have a duplicate name"},
		"control characters":                {field(5, field(3, bytes.Repeat([]byte{1}, 4<<10)...)...), "value: is more than three times as long in JSON as in protobuf"},
		"a member that is cut":              {field(4, field(1, 0x80)...), "Invalid protobuf payload"},
		"two contents":                      {field(5, join(double(1), double(2))...), "value: must not have a value with two kinds"},
		"content of no type":                {field(5, field(2)...), "value: has a value with the wrong wire type"},
		"not a number":                      {field(5, double(math.NaN())...), "value: has a number that JSON cannot represent"},
		"infinite":                          {field(5, double(math.Inf(-1))...), "value: has a number that JSON cannot represent"},
		"too deep":                          {field(5, nestedLists(31)...), "value: is nested deeper than 30 levels"},
		"far too deep":                      {field(5, nestedLists(20_000)...), "value: is nested deeper than 30 levels"},
		"a time before":                     {pbwire.AppendTime(nil, 6, time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)), "time: must be a time in the years 1 to 9999"},
		"a time after":                      {pbwire.AppendTime(nil, 6, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)), "time: must be a time in the years 1 to 9999"},
		"nanos":                             {field(6, pbwire.AppendInt(nil, 2, -1)...), "time: must be a time in the years 1 to 9999"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := readThing(test.text); err == nil || err.Error() != test.want {
				t.Errorf("read = %+v, %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestReaderSkipsUnknownFields(t *testing.T) {
	unknown := protowire.AppendTag(nil, 99, protowire.StartGroupType)
	unknown = protowire.AppendTag(unknown, 99, protowire.EndGroupType)
	got, err := readThing(join(field(31, 1, 2), unknown, field(1, 'a'), field(7)))
	if diff := cmp.Diff(read{Text: "a"}, got); diff != "" || err != nil {
		t.Errorf("read (-want +got):\n%s%v", diff, err)
	}
}

func TestReaderAcceptsTheMaximumDepth(t *testing.T) {
	got, err := readThing(field(5, nestedLists(30)...))
	if want := strings.Repeat("[", 30) + "null" + strings.Repeat("]", 30); err != nil || string(got.Value) != want {
		t.Errorf("Value() = %s, %v", got.Value, err)
	}
}

func TestValues(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `false`, `0`, `-1.5`, `1e-7`, `1e+21`, `123456789`, `9007199254740991`, `""`, `"é\n\"\u2028"`, `[]`, `{}`,
		`[1,[2,[]],{"a":{}}]`, `{"z":1,"a":[true,null],"":""}`, `1.7976931348623157e+308`, `5e-324`,
	} {
		encoded := pbwire.AppendValue(nil, 5, a2a.Value(text))
		got, err := readThing(encoded)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		var wantAny, gotAny any
		if json.Unmarshal([]byte(text), &wantAny) != nil || json.Unmarshal(got.Value, &gotAny) != nil || !cmp.Equal(wantAny, gotAny) {
			t.Errorf("Value(AppendValue(%s)) = %s", text, got.Value)
		}
		content, _ := protowire.ConsumeBytes(encoded[1:])
		var decoded, want structpb.Value
		if err := proto.Unmarshal(content, &decoded); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := protojson.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, &decoded, protocmp.Transform()); diff != "" {
			t.Errorf("AppendValue(%s) (-want +got):\n%s", text, diff)
		}
	}
}

// TestLongValues compares nested lists of all lengths around those at which a length needs one more byte with the messages of protobuf.
func TestLongValues(t *testing.T) {
	for _, length := range []int{0, 5, 6, 9, 10, 11, 12, 13, 40, 1485, 1486, 1487, 1488, 1489, 1490} {
		for depth := range 25 {
			text := strings.Repeat("[", depth) + "[" + strings.TrimSuffix(strings.Repeat("1,", length), ",") + "]" + strings.Repeat(`,"a"]`, depth)
			encoded := pbwire.AppendValue([]byte("before"), 5, a2a.Value(text))
			var want structpb.Value
			if err := protojson.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			content, err := proto.Marshal(&want)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(encoded, pbwire.AppendBytes([]byte("before"), 5, content)) {
				t.Errorf("a list of %d numbers in %d lists is encoded wrong", length, depth)
			}
			if most := pbwire.MaxSize([]byte(text)); len(content) > most {
				t.Errorf("a list of %d numbers in %d lists has %d bytes, not at most %d", length, depth, len(content), most)
			}
		}
	}
}

// TestMaxSize encodes values with small elements.
func TestMaxSize(t *testing.T) {
	for _, element := range []string{`1`, `""`, `"a"`, `null`, `true`, `[]`, `{}`, `[1]`, `{"":1}`, `{"a":{"":[1]}}`, `"\"\\,"`, `"[[[,,,"`} {
		text := "[" + strings.Repeat(element+",", 10_000) + element + "]"
		encoded := len(pbwire.AppendValue(nil, 5, a2a.Value(text)))
		if most := pbwire.MaxSize([]byte(text)); encoded > most || most > 14*len(text) {
			t.Errorf("elements %s: %d bytes of JSON, %d of protobuf, at most %d", element, len(text), encoded, most)
		}
	}
}

func BenchmarkAppendValue(b *testing.B) {
	for _, depth := range []int{0, 24} {
		text := a2a.Value(strings.Repeat("[", depth+1) + strings.Repeat("1,", 100_000) + "1" + strings.Repeat("]", depth+1))
		b.Run(strconv.Itoa(depth), func(b *testing.B) {
			for b.Loop() {
				pbwire.AppendValue(nil, 5, text)
			}
		})
	}
}

// TestNumbersBecomeDoubles checks that the value of a number becomes the nearest finite
// double.
func TestNumbersBecomeDoubles(t *testing.T) {
	for text, want := range map[string]string{
		`9007199254740993`: `9007199254740992`, `2.50`: `2.5`, `1E2`: `100`, `1e999`: `1.7976931348623157e+308`, `-1e999`: `-1.7976931348623157e+308`, `1e-999`: `0`,
	} {
		got, err := readThing(pbwire.AppendValue(nil, 5, a2a.Value(text)))
		if err != nil || string(got.Value) != want {
			t.Errorf("Value(AppendValue(%s)) = %s, %v, want %s", text, got.Value, err, want)
		}
	}
}

func TestEndWritesTheLengthOfLongMessages(t *testing.T) {
	for _, length := range []int{0, 1, 125, 126, 127, 128, 16382, 16383, 16384, 3 << 20} {
		dst, at := pbwire.Begin([]byte("before"), 9)
		dst = pbwire.End(append(dst, bytes.Repeat([]byte{7}, length)...), at)
		want := pbwire.AppendBytes([]byte("before"), 9, bytes.Repeat([]byte{7}, length))
		if !bytes.Equal(dst, want) {
			t.Errorf("a message of %d bytes is framed wrong", length)
		}
	}
}

// TestEscapedTextsAreAccepted checks that the reader accepts texts whose length escapes
// double in JSON, and names that are equal in different objects.
func TestEscapedTextsAreAccepted(t *testing.T) {
	long := strings.Repeat("\"\n\\", 8<<10)
	encoded := pbwire.AppendValue(nil, 5, a2a.Value(`[{"a":{"a":0}},{"a":1},`+strconv.Quote(long)+`]`))
	got, err := readThing(encoded)
	var values []any
	if err != nil || json.Unmarshal(got.Value, &values) != nil || len(values) != 3 || values[2] != long {
		t.Errorf("Value() = %.100s, %v", got.Value, err)
	}
}

func TestTime(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_999_999, time.FixedZone("CET", 3600))
	encoded := pbwire.AppendTime(nil, 6, at)
	content, _ := protowire.ConsumeBytes(encoded[1:])
	var decoded timestamppb.Timestamp
	want := at.UTC().Truncate(time.Millisecond)
	if err := proto.Unmarshal(content, &decoded); err != nil || !decoded.AsTime().Equal(want) {
		t.Errorf("AppendTime() = %v, %v", decoded.AsTime(), err)
	}
	if got, err := readThing(encoded); err != nil || got.Time != want {
		t.Errorf("Time() = %v, %v", got.Time, err)
	}
	if got := pbwire.AppendTime(nil, 6, time.Time{}); got != nil {
		t.Errorf("AppendTime() of no time = %x", got)
	}
}

func TestInvalidTextIsReplaced(t *testing.T) {
	if got, err := readThing(pbwire.AppendString(nil, 1, "a\xffb")); err != nil || got.Text != "a\ufffdb" {
		t.Errorf("text = %q, %v", got.Text, err)
	}
}

// TestMemoryIsProportionalToTheMessage checks that reading a message allocates at most 16
// times its size, even if the message consists of tiny fields or of characters that need
// escapes.
func TestMemoryIsProportionalToTheMessage(t *testing.T) {
	const size = 2 << 20
	for name, text := range map[string][]byte{
		"parts":              bytes.Repeat(field(3), size/2),
		"values":             field(5, field(6, bytes.Repeat(field(1), size/2)...)...),
		"names":              field(4, manyEntries(size/8)...),
		"equal names":        field(4, bytes.Repeat(field(1), size/2)...),
		"control characters": field(4, field(1, field(2, field(3, bytes.Repeat([]byte{1}, size)...)...)...)...),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = readThing(text)
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 16*size {
			t.Errorf("%s: %d bytes are read with %d", name, len(text), allocated)
		}
	}
}

func FuzzValue(f *testing.F) {
	for _, text := range []string{`null`, `[1,"a",{"b":[true]}]`, `{"a":{"b":1e300}}`} {
		f.Add(pbwire.AppendValue(nil, 5, a2a.Value(text)))
	}
	f.Add(pbwire.AppendObject(nil, 4, a2a.Object(`{"a":1}`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := readThing(text)
		if err != nil {
			return
		}
		if got.Value != nil && !json.Valid(got.Value) || got.Struct != nil && !json.Valid(got.Struct) {
			t.Fatalf("read what is not JSON: %q %q", got.Value, got.Struct)
		}
		if got.Value != nil {
			again, err := readThing(pbwire.AppendValue(nil, 5, got.Value))
			if err != nil || !bytes.Equal(again.Value, got.Value) {
				t.Fatalf("Value(AppendValue(%s)) = %s, %v", got.Value, again.Value, err)
			}
		}
	})
}
