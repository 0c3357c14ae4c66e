//! Random template expressions: nested function calls, most of them with arguments of the right types.

use fastrand::Rng;

use super::json_values::{self, pick, quoted};

/// Functions with the types of their arguments and of their results, one letter each. Functions whose results differ
/// from run to run in Helm are excluded: the order of `keys` and `values`, `%p`, random values, the current time (dates
/// of arguments that are not times), and fields of times with verbs for other types.
///
/// `s` string, `i` int, `f` number, `b` bool, `l` list, `L` list of strings, `m` map, `a` anything, `k` key,
/// `v` version, `c` version range, `r` regular expression, `p` path, `u` URL, `y` YAML or JSON,
/// `d` date, `D` date layout, `t` duration. A trailing `*` repeats the last one.
#[rustfmt::skip]
const FUNCTIONS: &[(&str, &str, char)] = &[
    // Text
    ("abbrev", "is", 's'), ("abbrevboth", "iis", 's'), ("camelcase", "s", 's'), ("cat", "a*", 's'),
    ("contains", "ss", 'b'), ("hasPrefix", "ss", 'b'), ("hasSuffix", "ss", 'b'), ("indent", "is", 's'),
    ("initials", "s", 's'), ("kebabcase", "s", 's'), ("lower", "s", 's'), ("nindent", "is", 's'),
    ("nospace", "s", 's'), ("plural", "ssi", 's'), ("quote", "a*", 's'), ("repeat", "is", 's'),
    ("replace", "sss", 's'), ("snakecase", "s", 's'), ("squote", "a*", 's'), ("substr", "iis", 's'),
    ("swapcase", "s", 's'), ("title", "s", 's'), ("toString", "a", 's'), ("trim", "s", 's'),
    ("trimAll", "ss", 's'), ("trimPrefix", "ss", 's'), ("trimSuffix", "ss", 's'), ("trimall", "ss", 's'),
    ("trunc", "is", 's'), ("untitle", "s", 's'), ("upper", "s", 's'), ("wrap", "is", 's'),
    ("wrapWith", "iss", 's'), ("split", "ss", 'm'), ("splitList", "ss", 'L'), ("splitn", "sis", 'm'),
    ("print", "a*", 's'), ("println", "a*", 's'), ("html", "a", 's'), ("js", "a", 's'), ("urlquery", "a", 's'),
    // Lists
    ("append", "la", 'l'), ("chunk", "il", 'l'), ("compact", "l", 'l'), ("concat", "l*", 'l'), ("first", "l", 'a'),
    ("has", "al", 'b'), ("initial", "l", 'l'), ("join", "sl", 's'), ("last", "l", 'a'), ("list", "a*", 'l'),
    ("prepend", "la", 'l'), ("push", "la", 'l'), ("rest", "l", 'l'), ("reverse", "l", 'l'), ("seq", "i*", 's'),
    ("slice", "li", 'l'), ("slice", "lii", 'l'), ("sortAlpha", "l", 'L'), ("toStrings", "l", 'L'),
    ("tuple", "a*", 'l'), ("uniq", "l", 'l'), ("until", "i", 'l'), ("untilStep", "iii", 'l'),
    ("without", "la*", 'l'), ("mustAppend", "la", 'l'), ("mustCompact", "l", 'l'), ("mustFirst", "l", 'a'),
    ("mustHas", "al", 'b'), ("mustInitial", "l", 'l'), ("mustLast", "l", 'a'), ("mustPrepend", "la", 'l'),
    ("mustRest", "l", 'l'), ("mustReverse", "l", 'l'), ("mustSlice", "li", 'l'), ("mustUniq", "l", 'l'),
    ("mustWithout", "la", 'l'), ("mustChunk", "il", 'l'), ("mustPush", "la", 'l'),
    // Maps
    ("deepCopy", "a", 'a'), ("mustDeepCopy", "a", 'a'), ("dict", "ka", 'm'), ("dict", "kaka", 'm'),
    ("dict", "kak", 'm'), ("dig", "kam", 'a'), ("dig", "kkam", 'a'), ("get", "mk", 'a'), ("hasKey", "mk", 'b'),
    ("merge", "mm", 'm'), ("merge", "mmm", 'm'), ("mergeOverwrite", "mm", 'm'),
    ("mergeOverwrite", "mmm", 'm'), ("mustMerge", "mm", 'm'), ("mustMergeOverwrite", "mm", 'm'),
    ("omit", "mk*", 'm'), ("pick", "mk*", 'm'), ("pluck", "km*", 'l'), ("set", "mka", 'm'), ("unset", "mk", 'm'),
    ("index", "mk", 'a'), ("index", "li", 'a'),
    // Logic
    ("all", "a*", 'b'), ("any", "a*", 'b'), ("coalesce", "a*", 'a'), ("default", "aa", 'a'), ("empty", "a", 'b'),
    ("ternary", "aab", 'a'), ("and", "aa*", 'a'), ("or", "aa*", 'a'), ("not", "a", 'b'), ("eq", "ss", 'b'),
    ("eq", "ii", 'b'), ("eq", "aa", 'b'), ("ne", "aa", 'b'), ("lt", "ii", 'b'), ("le", "ff", 'b'),
    ("gt", "ss", 'b'), ("ge", "ii", 'b'), ("len", "l", 'i'), ("len", "s", 'i'), ("len", "m", 'i'),
    // Numbers
    ("add", "a*", 'f'), ("add1", "a", 'f'), ("add1f", "f", 'f'), ("addf", "f*", 'f'), ("atoi", "s", 'i'),
    ("biggest", "aa", 'f'), ("ceil", "a", 'f'), ("div", "ai", 'f'), ("divf", "ff", 'f'), ("float64", "a", 'f'),
    ("floor", "a", 'f'), ("int", "a", 'i'), ("int64", "a", 'f'), ("max", "aa*", 'f'), ("maxf", "ff*", 'f'),
    ("min", "aa*", 'f'), ("minf", "ff*", 'f'), ("mod", "ai", 'f'), ("mul", "aa*", 'f'), ("mulf", "ff*", 'f'),
    ("round", "ai", 'f'), ("sub", "aa", 'f'), ("subf", "ff*", 'f'), ("toDecimal", "a", 'f'),
    // Types
    ("deepEqual", "aa", 'b'), ("kindIs", "sa", 'b'), ("kindOf", "a", 's'), ("typeIs", "sa", 'b'),
    ("typeIsLike", "sa", 'b'), ("typeOf", "a", 's'),
    // Encoding
    ("b32dec", "s", 's'), ("b32enc", "s", 's'), ("b64dec", "s", 's'), ("b64enc", "s", 's'),
    ("adler32sum", "s", 's'), ("sha1sum", "s", 's'), ("sha256sum", "s", 's'), ("sha512sum", "s", 's'),
    ("fromJson", "y", 'm'), ("fromJsonArray", "y", 'l'), ("fromYaml", "y", 'm'), ("fromYamlArray", "y", 'l'),
    ("mustFromJson", "y", 'a'), ("mustToJson", "a", 's'), ("mustToPrettyJson", "a", 's'),
    ("mustToRawJson", "a", 's'), ("toJson", "a", 's'), ("toPrettyJson", "a", 's'), ("toRawJson", "a", 's'),
    ("toYaml", "a", 's'), ("toYamlPretty", "a", 's'), ("toToml", "m", 's'),
    // Versions, patterns, paths, addresses
    ("semver", "v", 'a'), ("semverCompare", "cv", 'b'), ("mustRegexFind", "rs", 's'),
    ("mustRegexFindAll", "rsi", 'L'), ("mustRegexMatch", "rs", 'b'), ("mustRegexReplaceAll", "rss", 's'),
    ("mustRegexReplaceAllLiteral", "rss", 's'), ("mustRegexSplit", "rsi", 'L'), ("regexFind", "rs", 's'),
    ("regexFindAll", "rsi", 'L'), ("regexMatch", "rs", 'b'), ("regexQuoteMeta", "s", 's'),
    ("regexReplaceAll", "rss", 's'), ("regexReplaceAllLiteral", "rss", 's'), ("regexSplit", "rsi", 'L'),
    ("base", "p", 's'), ("clean", "p", 's'), ("dir", "p", 's'), ("ext", "p", 's'), ("isAbs", "p", 'b'),
    ("osBase", "p", 's'), ("osClean", "p", 's'), ("osDir", "p", 's'), ("osExt", "p", 's'), ("osIsAbs", "p", 'b'),
    ("urlParse", "u", 'm'), ("urlJoin", "m", 's'),
    // Dates
    ("toDate", "Dd", 'T'), ("duration", "t", 's'), ("durationRound", "t", 's'), ("dateInZone", "Diz", 's'),
    ("htmlDateInZone", "iz", 's'),
];

/// A random expression.
pub(super) fn expression(random: &mut Rng) -> String {
    if random.u32(..12) == 0 {
        format!("printf {}", printf(random))
    } else {
        call(random, 3, None)
    }
}

/// A call of a random function, with this type of result if given.
fn call(random: &mut Rng, depth: u32, result: Option<char>) -> String {
    let candidates: Vec<_> = FUNCTIONS
        .iter()
        .filter(|(_, _, kind)| result.is_none_or(|wanted| wanted == *kind))
        .collect();
    let Some((name, arguments, _)) = candidates.get(random.usize(..candidates.len().max(1))) else {
        return "list".to_owned();
    };
    let mut text = (*name).to_owned();
    let mut kinds: Vec<char> = arguments.chars().collect();
    if kinds.last() == Some(&'*') {
        kinds.pop();
        let repeated = kinds.last().copied().unwrap_or('a');
        kinds.extend(std::iter::repeat_n(repeated, random.usize(..3)));
    }
    // Rarely, an argument is missing, is of another type, or there is one too many.
    match random.u32(..60) {
        0 => drop(kinds.pop()),
        1 => kinds.push('a'),
        2 if !kinds.is_empty() => {
            let at = random.usize(..kinds.len());
            kinds[at] = 'a';
        }
        _ => {}
    }
    for kind in kinds {
        text.push(' ');
        text.push_str(&argument(random, depth - 1, kind));
    }
    text
}

fn argument(random: &mut Rng, depth: u32, kind: char) -> String {
    let calls = FUNCTIONS.iter().any(|(_, _, result)| *result == kind) || kind == 'a';
    if depth > 0 && calls && random.u32(..4) == 0 {
        return format!("({})", call(random, depth, (kind != 'a').then_some(kind)));
    }
    literal(random, kind)
}

/// Literals of a type; `true` if they are strings, which the template must quote.
type Literals = (char, bool, &'static [&'static str]);

#[rustfmt::skip]
const LITERALS: &[Literals] = &[
    ('s', true, &[
        "", "a", "Hello World", "hello-world_foo", "fooBarBaz", "HTTPServer", "äöü ß", "日本語", "a,b,c", " pad ", "1", "-7",
        "0x1f", "010", "1.5", "1e3", "true", "nil", "line one\nline two\n", "tab\there", "quote\"d", "it's", "back\\slash", "$1x",
        "${1}", "aGVsbG8=", "NBSWY3DP", "%d %s", "<b>&amp;</b>", "foo.bar/baz", "xxabcxx", "😀",
    ]),
    ('S', false, &[".Values.s", ".Values.e", ".Release.Name", ".Chart.Version"]),
    ('i', false, &["0", "1", "2", "3", "5", "10", "-1", "-3", "(len .Values.l)", "(int .Values.n)"]),
    ('f', false, &[
        "0", "1", "2.5", "-1.25", "0.1", "1e6", "100", "1e21", ".Values.n", ".Values.f", ".Values.z", "(int64 7)", "\"3.7\"",
        "\"12\"",
    ]),
    ('b', false, &["true", "false", ".Values.t", "(eq 1 1)"]),
    ('l', false, &[
        "(list)", "(list 1 2 3)", "(list \"a\" \"b\" \"a\")", ".Values.l", ".Values.ls", ".Values.ln", ".Values.le", "(until 3)",
        "(list 1 1.0 \"1\" nil)", "(splitList \",\" \"x,y,,z\")",
    ]),
    ('L', false, &["(list \"b\" \"a\")", ".Values.ls", "(splitList \",\" \"x,y\")", "(keys (dict \"q\" 1))"]),
    ('m', false, &[
        "(dict)", "(dict \"a\" 1 \"b\" \"x\")", "(deepCopy .Values.m)", "(deepCopy .Values.m2)", ".Values.m", ".Values.me",
        "(dict \"c\" (dict \"d\" nil \"q\" (list 1)))",
    ]),
    ('n', false, &["nil", ".Values.nil", ".Values.missing", ".Values.t", "1.0", ".Values.m.c"]),
    ('k', true, &["a", "b", "c", "d", "z", "missing", "", "x.y"]),
    ('v', true, &["1.2.3", "v1.2", "1", "1.20.0-gke.1", "v1.25.4+k3s1", "2.0.0-alpha.1+b.2", "bad", "1.2.3.4", "01.2.3", ""]),
    ('c', true, &[
        "^1.2", "~1.2.3", ">=1.20-0", ">=1.0 <2.0 || ^3", "1.x", "*", "1.2 - 2.0", "!=1.2.3", "=1.2", "=>1", "~>1.2", "<1.25-0",
        ">1.0.0-0, <9.9.9-9", "bad", "", "^0.2.3", "~0", "1.2.3-alpha",
    ]),
    ('r', true, &[
        "a", "[a-z]+", "^(\\w+)\\s(\\w+)$", "(?i)HELLO", "o", "", "\\d+", "[", "(a", "x*", "\\bfoo\\b", "(?P<n>.)b", "[[:alpha:]]+",
        "a{2,1}", "\\pL+", ".", "(?s).*", "*a",
    ]),
    ('p', true, &["/a/b/c.txt", "a//b/../c", "", ".", "/", "..", "a/b/", "x.tar.gz", "../../x", "/../a"]),
    ('u', true, &[
        "https://user:pw@example.com:8080/p/a?q=1&r=%20#frag", "http://example.com", "/just/path", "mailto:a@b", "http://[::1]:80/",
        "", "a b", "http://ex ample/", "ftp://h/%zz",
    ]),
    ('y', true, &[
        "a: 1", "[1, 2, \"x\"]", "{\"a\": {\"b\": [1, null]}}", "null", "", "a: b: c", "- x\n- y", "{", "\"str\"", "5",
        "a: &x 1\nb: *x", "{\"a\":1}x",
    ]),
    ('d', true, &["2024-02-29", "2023-01-02 15:04:05", "bad", "02 Jan 06"]),
    ('D', true, &["2006-01-02", "2006-01-02 15:04:05", "02 Jan 06", "Mon, 02 Jan 2006 15:04:05 MST", "3:04PM", "Jan _2 .000", ""]),
    ('t', false, &["\"95\"", "95", "\"3600\"", "\"2h30m\"", "1.5", "\"x\"", "(int64 100000)", "\"-90\""]),
    ('z', true, &["UTC", "", "America/New_York", "Asia/Kolkata", "Nowhere/None"]),
];

fn literal(random: &mut Rng, kind: char) -> String {
    let kind = match kind {
        'a' => "siifblLmSkn".chars().nth(random.usize(..11)).unwrap_or('s'),
        's' if random.u32(..6) == 0 => 'S',
        's' if random.u32(..8) == 0 => return quoted(&json_values::text(random)),
        kind => kind,
    };
    let Some((_, is_text, of)) = LITERALS.iter().find(|(name, ..)| *name == kind) else {
        return "nil".to_owned();
    };
    let literal = pick(random, of);
    if *is_text {
        quoted(literal)
    } else {
        literal.to_owned()
    }
}

/// A format string and arguments for it.
fn printf(random: &mut Rng) -> String {
    let mut format = String::new();
    let mut arguments = String::new();
    for _ in 0..random.usize(1..4) {
        format.push('%');
        format.push_str(pick(
            random,
            &[
                "", "", "", "+", "-", "#", "0", " ", "5", "-8", "08", ".2", "6.1", "[1]", "+.3",
            ],
        ));
        format.push_str(pick(
            random,
            &[
                "v", "d", "s", "q", "x", "X", "t", "T", "g", "e", "f", "c", "U", "b", "o", "%", "z",
            ],
        ));
        format.push(' ');
        if random.u32(..12) > 0 {
            arguments.push(' ');
            arguments.push_str(&argument(random, 1, 'a'));
        }
    }
    format!("{}{arguments}", quoted(&format))
}
