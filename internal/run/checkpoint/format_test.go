package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

var update = flag.Bool("update", false, "rewrite testdata/golden.safetensors")

// ramp returns n bytes that differ from their neighbours.
func ramp(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + 1)
	}
	return b
}

// sample returns a File with every dtype, a scalar, an empty array, odd names and sizes that would
// break alignment.
func sample() File {
	f := File{Meta: map[string]string{"algorithm": "ppo", "note": "a \"quoted\" <line>\nand é", "": "empty key"}}
	for _, dtype := range slices.Sorted(maps.Keys(elementSize)) {
		f.Arrays = append(f.Arrays, Array{"all/" + dtype, dtype, []int{3}, ramp(3 * elementSize[dtype]), nil})
	}
	return File{f.Meta, append(f.Arrays,
		Array{"scalar", "I64", []int{}, ramp(8), nil},
		Array{"empty", "F32", []int{2, 0, 5}, []byte{}, nil},
		Array{"matrix \"é\"\n", "F32", []int{2, 3}, ramp(24), nil},
		Array{"a byte", "U8", []int{1}, ramp(1), nil},
	)}
}

// small returns a File of a few bytes with a given content.
func small(content byte) File {
	return File{
		Meta:   map[string]string{"k": "v"},
		Arrays: []Array{{"w", "U8", []int{4}, bytes.Repeat([]byte{content}, 4), nil}},
	}
}

// bytesOf returns the bytes Write would write.
func bytesOf(t testing.TB, f File, own map[string]string) []byte {
	t.Helper()
	m, err := seal(f, own)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decodeBytes(b []byte, tr trust) (File, error) {
	f, _, err := decode(source{bytes.NewReader(b), int64(len(b))}, tr)
	return f, err
}

func put(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func want(t testing.TB, got, want File) {
	t.Helper()
	want.Arrays = byName(want.Arrays)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestRoundTrip(t *testing.T) {
	for name, f := range map[string]File{
		"sample":    sample(),
		"no arrays": {Meta: map[string]string{"k": "v"}, Arrays: []Array{}},
		"no meta":   {Meta: map[string]string{}, Arrays: small(1).Arrays},
		"nothing":   {Meta: map[string]string{}, Arrays: []Array{}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.safetensors")
			if err := Write(path, f); err != nil {
				t.Fatal(err)
			}
			got, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			want(t, got, f)
			if _, err := verify(path); err != nil {
				t.Errorf("verify: %v", err)
			}
			foreign, err := ReadForeign(path)
			if err != nil {
				t.Fatal(err)
			}
			want(t, foreign, f)
		})
	}
}

// The bytes of format 1 are fixed: a change of this file is a change of the format.
func TestGolden(t *testing.T) {
	const golden = "testdata/golden.safetensors"
	f := sample()
	got := bytesOf(t, f, nil)
	if *update {
		put(t, golden, got)
	}
	kept, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, kept) {
		t.Errorf("got  %q\nwant %q", got, kept)
	}
	slices.Reverse(f.Arrays)
	if !bytes.Equal(bytesOf(t, f, nil), kept) {
		t.Error("the order of the arrays shows")
	}
	if f.Arrays[0].Name != "a byte" {
		t.Error("the caller's arrays were reordered")
	}
}

func TestAligned(t *testing.T) {
	b := bytesOf(t, sample(), nil)
	n := binary.LittleEndian.Uint64(b)
	if n%alignment != 0 {
		t.Errorf("header of %d bytes", n)
	}
	var head map[string]json.RawMessage
	if err := json.Unmarshal(b[lengthBytes:lengthBytes+n], &head); err != nil {
		t.Fatal(err)
	}
	for name, raw := range head {
		if name == metadataKey {
			continue
		}
		var e struct {
			DType string
			At    []int `json:"data_offsets"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		if e.At[0]%elementSize[e.DType] != 0 {
			t.Errorf("%s at %d", name, e.At[0])
		}
	}
}

// Arrays are aligned in memory too, even where the allocator would pack a small buffer behind
// something smaller.
func TestAlignedInMemory(t *testing.T) {
	f, err := decodeBytes(bytesOf(t, sample(), nil), checkpointsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range f.Arrays {
		if n := uintptr(elementSize[a.DType]); address(a.Data)%n != 0 {
			t.Errorf("%s at %x", a.Name, address(a.Data))
		}
	}
	var heap [][]byte // kept, so that all of it is on the heap
	for range 100 {
		heap = append(heap, make([]byte, 4))
		b := buffer(12)
		heap = append(heap, b)
		if len(b) != 12 || address(b)%alignment != 0 {
			t.Fatalf("%d bytes at %x", len(b), address(b))
		}
	}
	runtime.KeepAlive(heap)
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// python.safetensors was written by the Python package safetensors 0.8.0.
func TestReadForeign(t *testing.T) {
	const path = "testdata/python.safetensors"
	f, err := ReadForeign(path)
	if err != nil {
		t.Fatal(err)
	}
	want(t, f, File{
		Meta: map[string]string{"format": "np"},
		Arrays: []Array{
			{"bias", "F32", []int{2}, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}, nil},
			{"count", "I64", []int{}, []byte{7, 0, 0, 0, 0, 0, 0, 0}, nil},
			{"mask", "BOOL", []int{3}, []byte{1, 0, 1}, nil},
			{"none", "F64", []int{0, 4}, []byte{}, nil},
		},
	})
	_, err = Read(path)
	if !errors.Is(err, ErrForeign) || !strings.HasPrefix(err.Error(), "checkpoint python.safetensors: not a checkpoint: ") {
		t.Errorf("Read: %v", err)
	}
}

func TestEveryByteCounts(t *testing.T) {
	b := bytesOf(t, small(5), nil)
	path := filepath.Join(t.TempDir(), "x.safetensors")
	for i := range b {
		for _, flip := range []byte{1, 0x20, 0x80} {
			bad := bytes.Clone(b)
			bad[i] ^= flip
			if _, err := decodeBytes(bad, checkpointsOnly); err == nil {
				t.Errorf("byte %d ^ %x is accepted", i, flip)
			}
			put(t, path, bad)
			if _, err := verify(path); err == nil {
				t.Errorf("byte %d ^ %x is verified", i, flip)
			}
		}
	}
}

func TestTorn(t *testing.T) {
	b := bytesOf(t, small(5), nil)
	head := lengthBytes + int(binary.LittleEndian.Uint64(b))
	path := filepath.Join(t.TempDir(), "step-000512.safetensors")
	for n := range b {
		text := fmt.Sprintf("torn: %d of %d bytes", n, len(b))
		if n < lengthBytes {
			text = fmt.Sprintf("not a checkpoint nor another safetensors file: only %d bytes", n)
		} else if n < head {
			text = fmt.Sprintf("torn: %d of at least %d bytes", n, head)
		}
		put(t, path, b[:n])
		_, err := Read(path)
		if !errors.Is(err, ErrDamaged) || err.Error() != "checkpoint step-000512.safetensors: "+text {
			t.Errorf("%d bytes: %v", n, err)
		}
		if _, verr := verify(path); verr == nil || verr.Error() != err.Error() {
			t.Errorf("%d bytes: verify says %v", n, verr)
		}
	}
	for _, n := range []int{0, 4, 9, head, head + 1} {
		s := source{bytes.NewReader(b[:n]), int64(len(b))}
		if _, _, err := decode(s, checkpointsOnly); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("torn: %d of %d", n, len(b))) {
			t.Errorf("shrunk to %d while being read: %v", n, err)
		}
	}
}

// raw makes a file of a header and some data.
func raw(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

// entries makes a file whose header has the given entries.
func entries(list string, data int) []byte { return raw("{"+list+"}", data) }

func array(dtype, shape, at string) string {
	return fmt.Sprintf(`"a":{"dtype":%q,"shape":%s,"data_offsets":%s}`, dtype, shape, at)
}

func TestStrict(t *testing.T) {
	good := bytesOf(t, small(5), nil)
	for name, test := range map[string]struct {
		b    []byte
		text string
	}{
		"empty":            {nil, "only 0 bytes"},
		"huge header":      {binary.LittleEndian.AppendUint64(nil, 1<<63), "a header of 9223372036854775808 bytes"},
		"text":             {[]byte("this is not it at all"), "not a checkpoint nor another safetensors file"},
		"no header":        {raw("", 4), "no JSON header"},
		"other JSON":       {raw("[]", 0), "no JSON header"},
		"bad JSON":         {raw("{]", 0), "not JSON"},
		"comma":            {raw(`{"a":1,}`, 0), "not JSON"},
		"two values":       {raw(`{}{}`, 0), "not JSON"},
		"not UTF-8":        {raw("{\"\xff\":1}", 0), "not JSON"},
		"number":           {entries(`"a":1`, 0), "unexpected 1"},
		"null":             {entries(`"a":null`, 0), "unexpected <nil>"},
		"list":             {entries(`"a":[]`, 0), "[ where { is wanted"},
		"no fields":        {entries(`"a":{}`, 0), "needs a dtype"},
		"no offsets":       {entries(`"a":{"dtype":"U8","shape":[0]}`, 0), "needs a dtype"},
		"one offset":       {entries(array("U8", "[0]", "[0]"), 0), "two data_offsets"},
		"three offsets":    {entries(array("U8", "[0]", "[0,0,0]"), 0), "more than 2 numbers"},
		"other field":      {entries(`"a":{"x":1}`, 0), `unknown field "x"`},
		"dtype":            {entries(array("F8_E4M3", "[0]", "[0,0]"), 0), `unknown dtype "F8_E4M3"`},
		"null shape":       {entries(array("U8", "null", "[0,1]"), 1), "unexpected <nil>"},
		"negative dim":     {entries(array("U8", "[-1]", "[0,1]"), 1), "-1 is not a size"},
		"float dim":        {entries(array("U8", "[1.0]", "[0,1]"), 1), "1.0 is not a size"},
		"huge dim":         {entries(array("U8", "[9223372036854775808]", "[0,1]"), 1), "9223372036854775808 is not a size"},
		"overflow":         {entries(array("U8", "[4294967296,4294967296,4]", "[0,0]"), 0), "too large"},
		"element overflow": {entries(array("F64", "[2305843009213693952]", "[0,0]"), 0), "too large"},
		"rank":             {entries(array("U8", "[1"+strings.Repeat(",1", maxRank)+"]", "[0,1]"), 1), "more than 64"},
		"wrong extent":     {entries(array("F32", "[2]", "[0,4]"), 4), "takes 8 bytes, its place is 0 to 4"},
		"backwards":        {entries(array("U8", "[1]", "[1,0]"), 1), "its place is 1 to 0"},
		"gap":              {entries(array("U8", "[1]", "[1,2]"), 2), `array "a" starts at byte 1 of the data, not at 0`},
		"overlap": {entries(array("U8", "[2]", "[0,2]")+`,"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}`, 3),
			`array "b" starts at byte 1 of the data, not at 2`},
		"same name":       {entries(array("U8", "[0]", "[0,0]")+","+array("U8", "[0]", "[0,0]"), 0), `"a" is there twice`},
		"same key":        {entries(`"__metadata__":{"k":"v","k":"v"}`, 0), `"k" is there twice`},
		"same field":      {entries(`"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}`, 0), `"dtype" is there twice`},
		"metadata number": {entries(`"__metadata__":{"k":1}`, 0), `metadata "k": unexpected 1`},
		"nameless":        {entries(`"":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, 0), "no name"},
		"huge data":       {entries(array("U8", "[649657,92737,153092023]", "[0,9223372036854775807]"), 4), "describes 9223372036854775807 bytes"},
		"more":            {append(bytes.Clone(good), 1, 2), fmt.Sprintf("2 bytes follow the %d", len(good))},
	} {
		t.Run(name, func(t *testing.T) {
			for _, tr := range []trust{anyFile, checkpointsOnly} {
				_, err := decodeBytes(test.b, tr)
				if tr == checkpointsOnly && errors.Is(err, ErrForeign) {
					continue // sound up to its size, which is not looked at in a file from elsewhere
				}
				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), test.text) {
					t.Errorf("got %v, want %q", err, test.text)
				}
			}
		})
	}
}

func TestNotOurs(t *testing.T) {
	good := bytesOf(t, small(5), nil)
	replace := func(old, new string) []byte { return bytes.Replace(bytes.Clone(good), []byte(old), []byte(new), 1) }
	for name, test := range map[string]struct {
		b    []byte
		kind error
		text string
	}{
		"version":   {replace(`format":"1"`, `format":"3"`), ErrVersion, "written by format version 3, this binary reads 1"},
		"elsewhere": {entries(array("U8", "[1]", "[0,1]"), 1), ErrForeign, "not a checkpoint: a safetensors file from elsewhere"},
		"rewritten": {raw(`{"__metadata__":{"weft.format":"1","weft.sha256":"00"}}`, 0), ErrForeign, "not a checkpoint: the checksum is not in its place"},
		"altered":   {replace(`"k":"v"`, `"k":"w"`), ErrDamaged, "checksum does not match"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeBytes(test.b, checkpointsOnly)
			if !errors.Is(err, test.kind) || !strings.HasPrefix(err.Error(), test.text) {
				t.Errorf("got %v", err)
			}
			if _, err := decodeBytes(test.b, anyFile); err != nil {
				t.Errorf("its weights: %v", err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	f := File{
		Meta: map[string]string{"weft.step": "1", "bad": "\xff"},
		Arrays: []Array{
			{"b", "F32", []int{2}, ramp(4), nil},
			{"b", "F33", nil, nil, nil},
			{"", "U8", []int{0}, nil, nil},
			{"__metadata__", "U8", []int{0}, nil, nil},
			{"\xff", "U8", []int{0}, nil, nil},
			{"n", "U8", []int{-1}, nil, nil},
			{"o", "U8", []int{1 << 30, 1 << 30, 1 << 30, 0}, nil, nil},
			{"r", "U8", make([]int, maxRank+1), nil, nil},
		},
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	err := Write(path, f)
	if err == nil {
		t.Fatal("written")
	}
	for _, text := range []string{
		`metadata "weft.step": keys that start with weft.`, `metadata "bad" is not valid UTF-8`,
		`array "b": F32[2] takes 8 bytes, not 4`, `array "b": there are two`, `array "b": unknown dtype "F33"`,
		"an array has no name", "no array can be called __metadata__", `array name "\xff"`,
		`array "n": shape [-1] has a negative dimension`, `array "o": shape [1073741824 1073741824 1073741824 0] is too large`,
		`array "r": 65 dimensions`,
	} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in:\n%v", text, err)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("a file was made")
	}
}

func TestNotRegular(t *testing.T) {
	if _, err := Read(t.TempDir()); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(errors.Unwrap(err)) {
		t.Error(err)
	}
}

func TestLookup(t *testing.T) {
	if a, ok := sample().Array("a byte"); !ok || a.DType != "U8" {
		t.Error(a, ok)
	}
	if _, ok := sample().Array("nobody"); ok {
		t.Error("found")
	}
}

// Writing copies no array, reading makes one buffer, and a header that promises much gets no more
// than what is there.
func TestMemory(t *testing.T) {
	const size = 16 << 20
	dir := t.TempDir()
	path := filepath.Join(dir, "x.safetensors")
	f := File{Arrays: []Array{{"w", "F32", []int{size / 4}, ramp(size), nil}, {"b", "U8", []int{1}, ramp(1), nil}}}
	lie := filepath.Join(dir, "lie")
	put(t, lie, append(binary.LittleEndian.AppendUint64(nil, maxHeader), '{'))
	for name, test := range map[string]struct {
		f    func() error
		most uint64
	}{
		"Write": {func() error { return Write(path, f) }, 1 << 20},
		"Read": {func() error {
			if err := Write(path, f); err != nil {
				return err
			}
			_, err := Read(path)
			return err
		}, size + 2<<20},
		"lie": {func() error {
			if _, err := Read(lie); err == nil {
				return errors.New("read")
			}
			return nil
		}, 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := test.f()
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > test.most {
				t.Errorf("%d bytes allocated, want at most %d", got, test.most)
			}
		})
	}
}

// What one array's owner appends does not reach into the next array.
func TestAppend(t *testing.T) {
	f, err := decodeBytes(bytesOf(t, sample(), nil), checkpointsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range f.Arrays {
		_ = append(a.Data, 0xee)
	}
	want(t, f, sample())
}

func FuzzDecode(f *testing.F) {
	f.Add(bytesOf(f, sample(), nil))
	f.Add(bytesOf(f, small(1), map[string]string{keyStep: "4"}))
	f.Add(entries(array("F32", "[2,1]", "[0,8]")+`,"__metadata__":{"k":"v"}`, 8))
	f.Add(entries(array("U8", "[4294967296,4294967296]", "[0,0]"), 0))
	f.Add(raw("{}", 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := decodeBytes(b, checkpointsOnly); err == nil {
			if again, err := decodeBytes(b, anyFile); err != nil || !reflect.DeepEqual(got, again) {
				t.Fatalf("a checkpoint but not a file: %v", err)
			}
		}
		got, err := decodeBytes(b, anyFile)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("of no kind: %v", err)
			}
			return
		}
		again, err := decodeBytes(bytesOf(t, got, nil), checkpointsOnly)
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Fatalf("%v: read as %v, written and read as %v", err, got, again)
		}
	})
}
