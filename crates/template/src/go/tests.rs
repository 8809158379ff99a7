//! The language against what Go's own package prints.

use std::time::Duration;

use proptest::prelude::*;
use rstest::rstest;

use super::{Template, Value};
use crate::limit::MAX_OUTPUT;

fn data() -> Value {
    let text = |text: &str| Value::text(text);
    let items = Value::data_list("[]string", vec![text("a"), text("b"), text("c")]);
    Value::data_map(
        "map[string]interface {}",
        vec![
            (text("Items"), items),
            (
                text("Map"),
                Value::data_map("map[string]string", vec![(text("k"), text("v")), (text("l"), text("w"))]),
            ),
            (text("Name"), text("x")),
        ],
    )
}

fn render(template: &str) -> Result<String, String> {
    let template = Template::parse("t", template).map_err(|error| error.to_string())?;
    template.render(data(), &|| Duration::ZERO).map_err(|error| error.to_string())
}

#[rstest]
#[case("a {{- /* note */ -}} b", "ab")]
#[case("a {{/* note */}} b", "a  b")]
#[case("{{ if .No }}1{{ else if .Name }}2{{ else }}3{{ end }}", "2")]
#[case(
    "{{ with .Name }}{{ . }}{{ else }}no{{ end }}{{ with .No }}{{ else with .Name }}{{ . }}{{ end }}",
    "xx"
)]
#[case("{{ range .Items }}{{ . }},{{ else }}none{{ end }}", "a,b,c,")]
#[case("{{ range $i, $v := .Items }}{{ $i }}{{ $v }}{{ end }}", "0a1b2c")]
#[case("{{ range $v := .Map }}{{ $v }}{{ end }}{{ range $k, $v := .Map }}{{ $k }}{{ end }}", "vwkl")]
#[case(
    "{{ range .Items }}{{ if eq . \"b\" }}{{ continue }}{{ end }}{{ if eq . \"c\" }}{{ break }}{{ end }}{{ . }}{{ end }}",
    "a"
)]
#[case("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}", "2")]
#[case("{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ end }}{{ $x }}", "1")]
#[case("{{ define \"d\" }}<{{ . }}>{{ end }}{{ template \"d\" .Name }}", "<x>")]
#[case("{{ block \"d\" .Name }}<{{ . }}>{{ end }}", "<x>")]
#[case("{{ range 3 }}{{ . }}{{ end }}", "012")]
#[case("{{ \"a\\tb\" }}{{ `c\\t` }}{{ 'A' }}{{ 0x10 }}{{ 1e3 }}{{ -2 }}", "a\tbc\\t65161000-2")]
#[case("{{ .Name | printf \"%s-%s\" \"a\" }}", "a-x")]
#[case("{{ (index .Items 1) | upper }}", "B")]
#[case("{{ and 1 0 2 }}{{ or 0 \"\" \"z\" }}{{ not 0 }}", "0ztrue")]
#[case("{{ len .Items }}{{ index .Map \"k\" }}{{ slice \"abcd\" 1 3 }}", "3vbc")]
#[case("{{ eq 1 2 1 }}{{ ne 1 2 }}{{ lt 1 2 }}{{ ge \"b\" \"a\" }}", "truetruetruetrue")]
#[case("{{ print 1 2 \"a\" 3 }}|{{ println 1 \"a\" }}", "1 2a3|1 a\n")]
#[case(
    "{{ printf \"%v %d %5s|%-5s|%05d %q %x %t %.2f %%\" .Items 7 \"a\" \"b\" 42 \"q\" 255 true 1.5 }}",
    "[a b c] 7     a|b    |00042 \"q\" ff true 1.50 %"
)]
#[case(
    "{{ printf \"%d\" \"x\" }}{{ printf \"%s\" }}{{ printf \"a\" 1 }}",
    "%!d(string=x)%!s(MISSING)a%!(EXTRA int=1)"
)]
#[case("{{ printf \"%+v %+d % v|%+v %+.2f % f\" 1 1 1 1.5 1.5 1.5 }}", "1 +1  1|1.5 +1.50  1.500000")]
#[case(
    "{{ printf \"%#x %#X %#o %#b %O %#o %#x\" 255 255 8 5 8 0 -255 }}",
    "0xff 0XFF 010 0b101 0o10 0 -0xff"
)]
#[case(
    "{{ printf \"%#x|%x|% x|%# x|%#X\" \"hi\" \"hi\" \"hi\" \"hi\" \"hi\" }}",
    "0x6869|6869|68 69|0x68 0x69|0X6869"
)]
#[case(
    "{{ printf \"%.3d|%5.3d|%-6.2d|%05.3d|%+.3d|%08b|%+x\" 7 7 7 7 7 5 255 }}",
    "007|  007|07    |  007|+007|00000101|+ff"
)]
#[case(
    "{{ printf \"%#q|%#q|%05s|%-05s|%.2v\" \"ab\" \"a`b\" \"ab\" \"ab\" \"abc\" }}",
    "`ab`|\"a`b\"|000ab|ab   |ab"
)]
#[case(
    "{{ printf \"%E|%G|%08.2f|%+08.2f\" 1.5 1e21 -3.14159 3.14159 }}",
    "1.500000E+00|1E+21|-0003.14|+0003.14"
)]
#[case(
    "{{ printf \"%q|%d|%05d|%-3v|%x|%t\" (list \"a\" \"b\") (list 1 2) (list 1 \"x\") (list 1 nil) (dict \"k\" \"v\") (list 1) }}",
    "[\"a\" \"b\"]|[1 2]|[00001 %!d(string=0000x)]|[1   <nil>]|map[6b:76]|[%!t(int=1)]"
)]
#[case(
    "{{ printf \"%05d|%s|%.2f|%d\" 1.5 (dict \"k\" (list 1)) \"abc\" nil }}",
    "%!d(float64=001.5)|map[k:[%!s(int=1)]]|%!f(string=ab)|%!d(<nil>)"
)]
#[case(
    "{{ splitn \"\" 3 \"über\" | toJson }}{{ splitn \"\" 0 \"ab\" }}{{ splitn \"\" -1 \"ab\" }}{{ splitn \"\" 9 \"ab\" }}",
    "{\"_0\":\"ü\",\"_1\":\"b\",\"_2\":\"er\"}map[]map[_0:a _1:b]map[_0:a _1:b]"
)]
#[case(
    "{{ (semver \"1.2.3-rc.1\").IncPatch }} {{ (semver \"1.2.3\").IncPatch }} {{ (semver \"1.2.3\").IncMinor }}",
    "1.2.3 1.2.4 1.3.0"
)]
#[case("{{ (semver \"v1.2.3\").IncMajor }} {{ (semver \"1.2.3\").String }}", "2.0.0 1.2.3")]
#[case(
    "{{ range $x := list }}{{ else }}{{ $x }}{{ end }}{{ range $i, $x := list }}{{ else }}{{ $i }}{{ $x }}{{ end }}",
    "[][][]"
)]
#[case("{{ $i := 5 }}{{ $x := 6 }}{{ range $i, $x = list 7 8 }}{{ end }}{{ $i }}{{ $x }}", "18")]
#[case("{{ .No.deeper 1 }}", "<no value>")]
#[case("{{ html \"<a&'>\" }}{{ urlquery \"a b&\" }}", "&lt;a&amp;&#39;&gt;a+b%26")]
#[case("{{ .Name\n| upper }}", "X")]
#[case("{{ .No }}{{ print .No }}", "<no value><nil>")]
#[case("{{ or nil .Name }}{{ and .Name nil | print }}", "x<nil>")]
fn templates_print_what_go_prints(#[case] template: &str, #[case] output: &str) {
    assert_eq!(render(template).as_deref(), Ok(output));
}

#[rstest]
#[case("{{ upper \"größe\" }}{{ lower \"ΟΔΟΣ\" }}{{ title \"ßa éa\" }}", "GRÖßEοδοσßa Éa")]
#[case("{{ \"a,b\" | splitList \",\" | join \"-\" }}", "a-b")]
#[case("{{ trunc 2 \"abc\" }}{{ trunc -2 \"abc\" }}{{ substr 1 3 \"abcd\" }}", "abbcbc")]
#[case(
    "{{ default \"d\" .No }}{{ default \"d\" .Name }}{{ coalesce .No \"\" \"c\" }}{{ ternary 1 2 false }}",
    "dxc2"
)]
#[case(
    "{{ replace \"a\" \"b\" \"cac\" }}{{ contains \"x\" \"axb\" }}{{ hasPrefix \"a\" \"ab\" }}",
    "cbctruetrue"
)]
#[case("{{ indent 2 \"a\\nb\" }}|{{ nindent 1 \"c\" }}", "  a\n  b|\n c")]
#[case("{{ quote \"a\" .No 1 }} {{ squote \"b\" }} {{ cat \"a\" 1 }}", "\"a\" \"1\" 'b' a 1")]
#[case(
    "{{ title \"hello world\" }}{{ repeat 3 \"z\" }}{{ trimSuffix \"c\" \"abc\" }}{{ trimAll \"-\" \"-a-\" }}",
    "Hello Worldzzzaba"
)]
#[case("{{ title \"o'neil a-b_c d.e\" }} {{ untitle \"AB-C D\" }}", "O'Neil A-B_c D.E aB-C d")]
#[case(
    "{{ list 1 2 3 | reverse | first }}{{ has 2 (list 1 2) }}{{ without (list 1 2) 1 }}{{ uniq (list 1 1) }}",
    "3true[2][1]"
)]
#[case(
    "{{ $d := dict \"a\" 1 }}{{ $d.a }}{{ get $d \"b\" }}{{ hasKey $d \"a\" }}{{ keys $d }}{{ merge (dict \"b\" 2) $d }}",
    "1true[a]map[a:1 b:2]"
)]
#[case(
    "{{ dig \"a\" \"b\" 0 (dict \"a\" (dict \"b\" 5)) }}{{ pluck \"a\" (dict \"a\" 1) }}{{ omit (dict \"a\" 1 \"b\" 2) \"a\" }}",
    "5[1]map[b:2]"
)]
#[case(
    "{{ add 1 2 3 }}{{ sub 5 2 }}{{ mul 2 3 }}{{ div 7 2 }}{{ mod 7 2 }}{{ max 1 9 3 }}{{ round 1.2345 2 }}",
    "6363191.23"
)]
#[case("{{ until 3 }}{{ untilStep 0 6 2 }}{{ seq 3 }}", "[0 1 2][0 2 4]1 2 3")]
#[case(
    "{{ sha256sum \"a\" | trunc 8 }} {{ b64enc \"hi\" }} {{ \"aGk=\" | b64dec }} {{ adler32sum \"abc\" }}",
    "ca978112 aGk= hi 38600999"
)]
#[case(
    "{{ toJson (dict \"a\" (list 1 \"<\")) }}{{ (fromJson \"{\\\"b\\\":2}\").b }}",
    "{\"a\":[1,\"\\u003c\"]}2"
)]
#[case(
    "{{ regexReplaceAll \"a(.)\" \"ab\" \"${1}x\" }}{{ regexMatch \"^a\" \"b\" }}{{ regexFindAll \"[0-9]\" \"1a2\" -1 }}",
    "bxfalse[1 2]"
)]
#[case(
    "{{ semverCompare \"^1.2\" \"1.3.0\" }}{{ (semver \"v1.2.3-rc\").Minor }}{{ semver \"v1.2.3-rc\" }}",
    "true21.2.3-rc"
)]
#[case(
    "{{ base \"a/b.c\" }}{{ dir \"a/b/../c\" }}{{ ext \"a.tar.gz\" }}{{ clean \"a//b/./..\" }}",
    "b.ca.gza"
)]
#[case(
    "{{ kindOf .Items }} {{ typeOf 1 }} {{ kindIs \"string\" .Name }} {{ deepEqual (list 1) (list 1) }}",
    "slice int true true"
)]
fn functions_compute_what_sprig_computes(#[case] template: &str, #[case] output: &str) {
    assert_eq!(render(template).as_deref(), Ok(output));
}

/// Each line is what Go prints with sprig v3.3.0 (TP-9).
#[rstest]
#[case(
    "{{ $d := dict \"a\" 1 }}{{ $e := $d }}{{ $_ := set $e \"b\" 2 }}{{ $d }}{{ unset $d \"a\" }}",
    "map[a:1 b:2]map[b:2]"
)]
#[case(
    "{{ $d := dict }}{{ range .Items }}{{ $_ := set $d . (append (default list (get $d .)) 1) }}{{ end }}{{ $d }}",
    "map[a:[1] b:[1] c:[1]]"
)]
#[case(
    "{{ $d := dict \"a\" 1 \"b\" (dict \"x\" 1) }}{{ $_ := merge $d (dict \"a\" 2 \"b\" (dict \"x\" 2 \"y\" 3) \"c\" 4) }}{{ $d }}",
    "map[a:1 b:map[x:1 y:3] c:4]"
)]
#[case(
    "{{ mergeOverwrite (dict \"a\" 1 \"b\" (dict \"x\" 1)) (dict \"a\" \"\" \"b\" (dict \"x\" 2)) }}",
    "map[a: b:map[x:2]]"
)]
#[case("{{ merge (dict \"a\" \"\" \"f\" false) (dict \"a\" \"x\" \"f\" true) }}", "map[a:x f:true]")]
#[case(
    "{{ $d := dict \"a\" (dict \"x\" 1) }}{{ $e := deepCopy $d }}{{ $_ := set $e.a \"x\" 2 }}{{ $d }}{{ $e }}",
    "map[a:map[x:1]]map[a:map[x:2]]"
)]
#[case(
    "{{ mustAppend (list 1) 2 }}{{ mustFirst .Items }}{{ mustSlice .Items 1 }}{{ mustChunk 2 .Items }}{{ slice (list) }}",
    "[1 2]a[b c][[a b] [c]]<no value>"
)]
#[case(
    "{{ mustRegexMatch \"a+\" \"caab\" }}{{ mustRegexReplaceAll \"a(.)\" \"abac\" \"${1}-\" }}{{ regexMatch \"(\" \"a\" }}",
    "trueb-c-false"
)]
#[case(
    "{{ mustToJson (dict \"b\" 1.5 \"a\" (list \"<\" nil)) }}{{ toRawJson \"<\" }}{{ toJson (fromJson \"1\") }}|{{ toJson (float64 \"nan\") }}",
    "{\"a\":[\"\\u003c\",null],\"b\":1.5}\"<\"1|"
)]
#[case("{{ toPrettyJson (dict \"a\" (list 1) \"b\" (list)) }}", "{\n  \"a\": [\n    1\n  ],\n  \"b\": []\n}")]
#[case(
    "{{ initials \"John Doe foo\" }} {{ abbrev 5 \"hello world\" }} {{ abbrevboth 5 10 \"1234 5678 9123\" }}",
    "JDf he... ...5678..."
)]
#[case(
    "{{ wrap 5 \"a verylongword and\" }}|{{ wrapWith 3 \"-\" \"abcdefgh ij\" }}",
    "a\nverylongword\nand|abc-def-gh-ij"
)]
#[case(
    "{{ snakecase \"HTTP20xOK\" }} {{ snakecase \"Bld4Floor3rd\" }} {{ snakecase \"v1\" }} {{ kebabcase \"ABCd e.F\" }}",
    "http_20x_ok bld4_floor_3rd v1 ab-cd-e.f"
)]
#[case(
    "{{ camelcase \"_complex__case_\" }} {{ camelcase \"GOLANG_IS\" }} {{ camelcase \"_\" }} {{ swapcase \"This is\" }}",
    "_Complex_Case_ GolangIs __ tHIS IS"
)]
#[case(
    "{{ addf 0.1 0.2 }} {{ subf 1 0.9 }} {{ mulf 1.1 1.1 }} {{ divf 2 3 }} {{ add1f 1.1 }}",
    "0.3 0.1 1.21 0.6666666666666667 2.1"
)]
#[case(
    "{{ maxf 1 2.5 }} {{ minf 3 1.5 }} {{ biggest 1 5 3 }} {{ toDecimal \"777\" }} {{ int \"0x10\" }} {{ round -1.4 0 }} {{ 1e6 }}",
    "2.5 1.5 5 511 16 -2 1e+06"
)]
#[case(
    "{{ b32enc \"hello world\" }} {{ b32dec \"MFRGGZA=\" }} {{ b32dec \"ME\" }} {{ b64dec \"Y!==\" }}",
    "NBSWY3DPEB3W64TMMQ====== abcd illegal base32 data at input byte 0 illegal base64 data at input byte 1"
)]
#[case(
    "{{ $u := urlParse \"http://u:p@h:80/a%20b?q=1#f\" }}{{ $u }} {{ urlJoin $u }}",
    "map[fragment:f host:h:80 hostname:h opaque: path:/a b query:q=1 scheme:http userinfo:u:p] http://u:p@h:80/a%20b?q=1#f"
)]
#[case(
    "{{ durationRound \"2400h10m5s\" }} {{ durationRound \"x\" }} {{ duration \"3661\" }}",
    "3mo 0s 1h1m1s"
)]
#[case(
    "{{ isAbs \"/a\" }} {{ osBase \"/a/b\" }} {{ osClean \"a/../b\" }} {{ trimall \"$\" \"$5$\" }} {{ typeIsLike \"semver.Version\" (semver \"1.2.3\") }}",
    "true b b 5 true"
)]
fn the_rest_of_sprig_computes_the_same(#[case] template: &str, #[case] output: &str) {
    assert_eq!(render(template).as_deref(), Ok(output));
}

#[rstest]
#[case("{{ mustFirst \"a\" }}", "mustFirst \"a\"", "Cannot find first on type string")]
#[case("{{ mustAppend \"a\" 1 }}", "mustAppend \"a\" 1", "Cannot push on type string")]
#[case(
    "{{ mustSlice \"abc\" 1 }}",
    "mustSlice \"abc\" 1",
    "list should be type of slice or array but string"
)]
#[case(
    "{{ mustRegexFind \"(\" \"a\" }}",
    "mustRegexFind \"(\" \"a\"",
    "error parsing regexp: missing closing ): `(`"
)]
#[case(
    "{{ regexFind \"(\" \"a\" }}",
    "regexFind \"(\" \"a\"",
    "regexp: Compile(`(`): error parsing regexp: missing closing ): `(`"
)]
#[case("{{ mustFromJson \"\" }}", "mustFromJson \"\"", "unexpected end of JSON input")]
#[case("{{ mustToJson (float64 \"nan\") }}", "mustToJson (float64 \"nan\")", "json: unsupported value: NaN")]
#[case("{{ divf 1 0 }}", "divf 1 0", "decimal division by 0")]
#[case(
    "{{ urlParse \":a\" }}",
    "urlParse \":a\"",
    "unable to parse url: parse \":a\": missing protocol scheme"
)]
#[case(
    "{{ urlJoin (dict \"host\" 1) }}",
    "urlJoin (dict \"host\" 1)",
    "unable to parse host key, must be of type string, but int found"
)]
#[case("{{ call .Name 1 }}", "call .Name 1", "non-function .Name of type string")]
fn the_rest_of_sprig_refuses_the_same(#[case] template: &str, #[case] piece: &str, #[case] text: &str) {
    let name = piece.split(' ').next().unwrap();
    let text = format!("template: t:1:3: executing \"t\" at <{piece}>: error calling {name}: {text}");
    assert_eq!(render(template), Err(text));
}

#[test]
fn maps_of_the_data_do_not_change() {
    let text = "wrong type for value; expected map[string]interface {}; got map[string]string";
    for template in ["{{ set .Map \"k\" 1 }}", "{{ unset .Map \"k\" }}", "{{ merge .Map (dict) }}"] {
        assert!(render(template).unwrap_err().ends_with(text));
    }
}

#[test]
fn long_chains_of_changed_dictionaries_are_freed() {
    let chain =
        "{{ $d := dict }}{{ range 100000 }}{{ $n := dict }}{{ $_ := set $n \"d\" $d }}{{ $d = $n }}{{ end }}";
    assert_eq!(render(chain), Ok(String::new()));
}

#[rstest]
#[case("{{else}}", "unexpected {{else}}")]
#[case("{{! c }}", r#"unexpected "!" in command"#)]
#[case("{{~ x ~}}", r#"unexpected "~" in command"#)]
#[case("{{{ x }}}", r#"unexpected "{" in command"#)]
#[case("{{ @key }}", r#"unexpected "@" in command"#)]
#[case("{{> p}}", r#"unexpected ">" in command"#)]
#[case("{{ this.x }}", r#"function "this" not defined"#)]
#[case("{{ range .A }}", "unexpected EOF")]
#[case("{{ $x }}", r#"undefined variable "$x""#)]
#[case("{{ if }}", "missing value for if")]
#[case("{{ \"a }}", "unterminated quoted string")]
#[case("{{ 'a }}", "unterminated character constant")]
#[case("{{ .A | 3 }}", "non executable command in pipeline stage 2")]
#[case("{{ (.A }}", "unclosed left paren")]
#[case("{{ .A )}}", "unexpected right paren")]
#[case("{{ . }", r#"unexpected "}" in operand"#)]
#[case("{{ break }}", "{{break}} outside {{range}}")]
#[case("{{ 1a }}", r#"bad number syntax: "1a""#)]
#[case("{{ if .A }}{{ else }}{{ else }}{{ end }}", "expected end; found {{else}}")]
#[case("{{ range $a, $b, $c := .A }}{{end}}", "too many declarations in range")]
#[case("{{ $x := 1", "unclosed action")]
#[case("{{ define }}", r#"unexpected "}}" in define clause"#)]
#[case("{{ .A % 3}}", r#"unexpected "%" in operand"#)]
#[case("{{ $x.y := 3 }}", r#"undefined variable "$x""#)]
#[case("{{ \"a\\q\" }}", "invalid syntax")]
#[case("{{ .A.}}", "unexpected <.> in operand")]
fn what_go_refuses_is_refused_in_its_words(#[case] template: &str, #[case] text: &str) {
    assert_eq!(render(template), Err(format!("template: t:1: {text}")));
}

#[rstest]
#[case("{{template \"x\"}}", "1:11: executing \"t\" at <{{template \"x\"}}>: template \"x\" not defined")]
#[case("{{ lower 3 }}", "1:9: executing \"t\" at <3>: expected string; found 3")]
#[case(
    "{{ lower .Items }}",
    "1:9: executing \"t\" at <.Items>: wrong type for value; expected string; got []string"
)]
#[case("{{ lower .No }}", "1:9: executing \"t\" at <.No>: invalid value; expected string")]
#[case("{{ lower nil }}", "1:9: executing \"t\" at <nil>: cannot assign nil to string")]
#[case(
    "{{ lower (tuple 1 (until 2)) }}",
    "1:25: executing \"t\" at <2>: wrong type for value; expected string; got []interface {}"
)]
#[case("{{ 10 | repeat 1 }}", "1:15: executing \"t\" at <1>: wrong type for value; expected string; got int")]
#[case("{{ lower }}", "1:3: executing \"t\" at <lower>: wrong number of args for lower: want 1 got 0")]
#[case("{{ range $n := .Name }}{{ end }}", "1:15: executing \"t\" at <.Name>: range can't iterate over x")]
#[case("{{ (index .Items 0).No }}", "1:17: executing \"t\" at <0>: can't evaluate field No in type string")]
#[case(
    "{{ index .Items 3 }}",
    "1:3: executing \"t\" at <index .Items 3>: error calling index: reflect: slice index out of range"
)]
#[case("{{ range .Name }}{{ end }}", "1:9: executing \"t\" at <.Name>: range can't iterate over x")]
#[case("a\n  {{ .Name.Y }}", "2:10: executing \"t\" at <.Name.Y>: can't evaluate field Y in type string")]
#[case(
    "{{ eq .Items 1 }}",
    "1:3: executing \"t\" at <eq .Items 1>: error calling eq: incompatible types for comparison: []string and int"
)]
#[case(
    "{{ eq .Items .Items }}",
    "1:3: executing \"t\" at <eq .Items .Items>: error calling eq: non-comparable type [a b c]: []string"
)]
#[case(
    "{{ lt 1 true }}",
    "1:3: executing \"t\" at <lt 1 true>: error calling lt: incompatible types for comparison: int and bool"
)]
#[case("{{ \"a\" \"b\" }}", "1:3: executing \"t\" at <\"a\">: can't give argument to non-function \"a\"")]
#[case(
    "{{ (print 2) 1 }}",
    "1:3: executing \"t\" at <(print 2) 1>: can't give argument to non-function print 2"
)]
#[case("{{ $x := 1 }}{{ 3 | $x }}", "1:20: executing \"t\" at <$x>: can't give argument to non-function $x")]
#[case("{{ .Map.none 1 }}", "1:7: executing \"t\" at <.Map.none>: none is not a method but has arguments")]
#[case("{{ .Name.x 1 }}", "1:8: executing \"t\" at <.Name.x>: can't evaluate field x in type string")]
#[case(
    "{{ $v := semver \"1.2.3\" }}{{ 1 | $v.Major }}",
    "1:35: executing \"t\" at <$v.Major>: wrong number of args for Major: want 0 got 1"
)]
#[case("{{ $y = print 1 2 }}", "1:16: executing \"t\" at <2>: undefined variable: $y")]
#[case("{{ if $y = 1 }}{{ end }}", "1:11: executing \"t\" at <1>: undefined variable: $y")]
#[case(
    "{{ len .No }}",
    "1:3: executing \"t\" at <len .No>: error calling len: reflect: call of reflect.Value.Type on zero Value"
)]
#[case("{{ genCA \"a\" 1 }}", "1:3: executing \"t\" at <genCA \"a\" 1>: function \"genCA\" is not available")]
fn what_fails_in_go_fails_in_its_words(#[case] template: &str, #[case] text: &str) {
    assert_eq!(render(template), Err(format!("template: t:{text}")));
}

#[rstest]
#[case("{{ range 1000000 }}{{ range 1000000 }}{{ end }}{{ end }}", "steps")]
#[case("{{ repeat 1000000000 \"x\" }}", "longer than")]
#[case("{{ range 100000 }}0123456789{{ end }}", "longer than")]
#[case("{{ until 1000000000 }}", "more than")]
#[case("{{ printf \"%1000000d\" 1 }}", "larger than")]
#[case("{{ define \"r\" }}{{ template \"r\" . }}{{ end }}{{ template \"r\" . }}", "maximum template depth")]
#[case("{{ $x := list 1 }}{{ range 100 }}{{ $x = list $x $x }}{{ end }}{{ $x }}", "too deep")]
#[case("{{ $x := list \"aaaaaaaaaa\" }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ $x }}", "longer than")]
#[case("{{ $x := list 1 }}{{ range 60 }}{{ $x = concat $x $x }}{{ end }}", "more than")]
#[case("{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ $d }}", "too deep")]
#[case("{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ toJson $d }}", "too deep")]
#[case("{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ deepCopy $d }}", "too deep")]
#[case("{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ merge $d (deepCopy (dict \"d\" $d)) }}", "too deep")]
#[case("{{ $x := list 1 }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ deepCopy $x }}", "more than")]
#[case("{{ $x := list 1 }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ toJson $x }}", "longer than")]
#[case(
    "{{ $x := dict }}{{ $y := dict }}{{ range 60 }}{{ $x = dict \"a\" $x \"b\" $x }}{{ $y = dict \"a\" $y \"b\" $y }}{{ end }}{{ $_ := merge $x $y }}",
    "more than"
)]
#[case("{{ wrapWith 1 (repeat 10000 \"x\") (repeat 10000 \"y\") }}", "longer than")]
#[case("{{ $x := repeat 200000 \"x\" }}{{ join \"\" (list $x $x) }}", "longer than")]
#[case("{{ $x := repeat 200000 \"x\" }}{{ regexReplaceAll \"x\" $x $x }}", "longer than")]
#[case(
    "{{ $l := list }}{{ range 10000 }}{{ $l = append $l (repeat 200000 \"x\") }}{{ end }}",
    "values of more than 536870912 bytes"
)]
#[case(
    "{{ $d := dict }}{{ range 1000 }}{{ $_ := set $d (repeat 2000 (toString .)) 1 }}{{ end }}{{ range 1000 }}{{ $_ := merge (dict) $d }}{{ end }}",
    "values of more than"
)]
fn every_template_ends_within_its_limits(#[case] template: &str, #[case] text: &str) {
    let error = render(template).unwrap_err();
    assert!(error.contains(text), "{error}");
}

#[test]
fn long_texts_of_the_source_are_counted_as_often_as_they_are_used() {
    let (text, list) = ("x".repeat(60_000), "{{ $l := list }}{{ range 100000 }}{{ $l = append $l");
    let error = render(&format!("{list} \"{text}\" }}}}{{{{ end }}}}")).unwrap_err();
    assert!(error.ends_with("values of more than 536870912 bytes"), "{error}");
}

#[test]
fn time_is_limited() {
    let template = Template::parse("t", "{{ range 3 }}{{ end }}").unwrap();
    let error = template.render(data(), &|| Duration::from_secs(61)).unwrap_err().to_string();
    assert_eq!(error, "template: t:1:9: executing \"t\" at <3>: takes longer than 60s");
}

/// Each item is compared with all others at once: one by one, it would be billions of comparisons.
#[rstest]
#[case("{{ uniq (concat (until 50000) (until 50000)) | len }}", "50000")]
#[case("{{ uniq (list 1 \"1\" 1.0 nil nil (list 1) (list 1) (list \"1\")) }}", "[1 1 1 <nil> [1]]")]
#[case("{{ without (list 1 \"1\" 2 nil (list 1)) 1 (list 1) }}", "[1 2 <nil>]")]
#[case("{{ has 1 (list \"1\" 1) }}{{ has 1 (list \"1\") }}", "truefalse")]
fn equal_items(#[case] template: &str, #[case] expected: &str) {
    assert_eq!(render(template).unwrap(), expected);
}

#[test]
fn long_and_deep_sources_are_refused() {
    assert!(render(&"x".repeat(70_000)).unwrap_err().contains("longer than"));
    let deep = format!("{}1{}", "{{ if ".to_owned() + &"(".repeat(500), ")".repeat(500) + " }}{{ end }}");
    assert!(render(&deep).unwrap_err().contains("depth"));
    assert!(render(&"{{ if 1 }}".repeat(500)).unwrap_err().contains("depth"));
}

proptest! {
    #[test]
    fn any_text_renders_or_is_refused(template in "[ a-z0-9.$|(){}\"\\-=:,\n]{0,40}") {
        if let Ok(output) = render(&format!("{{{{ {template} }}}}{template}")) {
            prop_assert!(output.len() <= MAX_OUTPUT);
        }
    }

    #[test]
    fn text_without_actions_is_itself(text in "[^{]{0,60}") {
        prop_assert_eq!(render(&text), Ok(text));
    }
}
