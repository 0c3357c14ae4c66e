//! Go strings that are not UTF-8, such as `trunc` returns. All expected texts are recorded from Helm.

use outrigger_goyaml::{Emitter, Style, from_go_bytes};

const HALF: &[u8] = b"\xC3";
const CUT: &[u8] = "日本".as_bytes().split_at(5).0;

#[test]
fn the_normal_style_replaces_each_invalid_byte() {
    let mut out = Vec::new();
    let mut emitter = Emitter::new(&mut out, Style::Normal, 0);
    emitter.begin_map(1);
    emitter.key_bytes(HALF);
    emitter.begin_list(2);
    emitter.bytes(HALF);
    emitter.bytes(CUT);
    emitter.end_list();
    emitter.end_map();
    assert_eq!(emitter.finish(), Ok(()));
    assert_eq!(
        String::from_utf8_lossy(&out),
        "\u{FFFD}:\n- \u{FFFD}\n- 日\u{FFFD}\u{FFFD}"
    );
    assert_eq!(from_go_bytes(b"a"), "a");
}

#[test]
fn the_pretty_style_writes_base64() {
    let long = [&b"ab".repeat(60)[..], &CUT[..2]].concat();
    let mut out = Vec::new();
    let mut emitter = Emitter::new(&mut out, Style::Pretty, 0);
    emitter.begin_map(2);
    emitter.key_bytes(HALF);
    emitter.begin_list(2);
    emitter.bytes(HALF);
    emitter.bytes(&long);
    emitter.end_list();
    emitter.key_bytes(&long);
    emitter.int(2);
    emitter.end_map();
    assert_eq!(emitter.finish(), Ok(()));
    assert_eq!(String::from_utf8_lossy(&out), PRETTY);
}

const PRETTY: &str = "\
!!binary ww==:
  - !!binary ww==
  - !!binary |
    YWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYm
    FiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJh
    YmFiYWJhYmFiYWJhYmFi5pc=
? !!binary |
  YWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYm
  FiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJh
  YmFiYWJhYmFiYWJhYmFi5pc=
: 2";
