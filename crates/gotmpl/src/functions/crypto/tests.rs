//! Certificates that Helm generated with the same keys, serial numbers and clock, compared byte for byte.

use std::cell::Cell;

use super::dsa;
use super::key::PrivateKey;
use crate::function::{Call, CallError, Dialect, Host};
use crate::functions::table;
use crate::value::Value;

const AUTHORITY_KEY: &str = include_str!("tests/authority.key");
const LEAF_KEY: &str = include_str!("tests/leaf.key");

/// A host whose random bytes repeat those of one number.
#[derive(Debug)]
struct SerialHost {
    serial: u128,
    now: i128,
    at: Cell<usize>,
}

impl Host for SerialHost {
    fn now(&self) -> i128 {
        self.now
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.serial.to_be_bytes()[self.at.replace(self.at.get() + 1) % 16];
        }
    }

    fn lookup(&self, _: &str, _: &str, _: &str, _: &str) -> Result<Value, CallError> {
        Ok(Value::Nil)
    }

    fn host_by_name(&self, _: &str) -> String {
        String::new()
    }

    fn rsa_key(&self, _: usize) -> Result<Vec<u8>, CallError> {
        match PrivateKey::from_pem(AUTHORITY_KEY) {
            Ok(PrivateKey::Rsa(bytes)) => Ok(bytes),
            other => panic!("no RSA key: {other:?}"),
        }
    }
}

fn call(host: &dyn Host, helm: u8, name: &str, args: &[Value]) -> Value {
    let dialect = Dialect {
        range_over_int: helm == 4,
        must_to_functions: helm == 4,
    };
    let function = table().iter().find(|function| function.name == name);
    let body = function.expect("the function exists").body;
    let mut call = Call {
        host,
        dialect: &dialect,
        memory_bytes: usize::MAX,
    };
    body(&mut call, args).expect("the call succeeds")
}

fn field(value: &Value, name: &str) -> String {
    let Value::Object(object) = value else {
        panic!("no object: {value:?}");
    };
    let Some(Value::Str(text)) = object.field(name) else {
        panic!("no field {name}");
    };
    text.to_text().into_owned()
}

#[track_caller]
fn check(helm: u8, serial: u128, second: i128, name: &str, args: &[Value], expected: &str) {
    let host = SerialHost {
        serial,
        now: second * 1_000_000_000,
        at: Cell::new(0),
    };
    assert_eq!(field(&call(&host, helm, name, args), "Cert"), expected);
}

fn strings(texts: &[&str]) -> Value {
    Value::list(texts.iter().map(|text| Value::str(*text)).collect())
}

#[test]
fn generates_the_same_ca_as_helm() {
    let args = [
        Value::str("my-ca"),
        Value::Int(365),
        Value::str(AUTHORITY_KEY),
    ];
    let (serial_3, serial_4) = (
        0xC811_E338_FBD6_0841_1182_20E0_88BA_E92F,
        0xDA53_995C_2060_0B10_FE54_01EC_C6F2_3B44,
    );
    let name = "genCAWithKey";
    check(
        3,
        serial_3,
        1_794_783_708,
        name,
        &args,
        include_str!("tests/helm3-authority.pem"),
    );
    check(
        4,
        serial_4,
        1_794_783_709,
        name,
        &args,
        include_str!("tests/helm4-authority.pem"),
    );
}

#[test]
fn generates_the_same_signed_certificate_as_helm() {
    let signed_by = |certificate: &str| {
        let encoded = |text: &str| Value::str(outrigger_gostd::base64::encode(text.as_bytes()));
        let host = SerialHost {
            serial: 1,
            now: 0,
            at: Cell::new(0),
        };
        let authority = call(
            &host,
            3,
            "buildCustomCert",
            &[encoded(certificate), encoded(AUTHORITY_KEY)],
        );
        [
            Value::str("host.example"),
            strings(&["10.0.0.1", "fe80::1", "::ffff:1.2.3.4"]),
            strings(&["a.b", "*.c"]),
            Value::Int(36_500),
            authority,
            Value::str(LEAF_KEY),
        ]
    };
    let (serial_3, serial_4) = (
        0x8A84_5A81_3E0E_1356_423D_C5BC_5C9C_A641,
        0x05C2_974E_30E3_FBD1_3B6B_6C12_E5AA_A1EA,
    );
    let name = "genSignedCertWithKey";
    let args = signed_by(include_str!("tests/helm3-authority.pem"));
    check(
        3,
        serial_3,
        1_794_783_708,
        name,
        &args,
        include_str!("tests/helm3-signed.pem"),
    );
    let args = signed_by(include_str!("tests/helm4-authority.pem"));
    check(
        4,
        serial_4,
        1_794_783_709,
        name,
        &args,
        include_str!("tests/helm4-signed.pem"),
    );
}

#[test]
fn generates_the_same_self_signed_certificate_as_helm() {
    let args = [
        Value::str(""),
        Value::Nil,
        strings(&["x"]),
        Value::Int(1),
        Value::str(LEAF_KEY),
    ];
    let (serial_3, serial_4) = (
        0x4003_9BCB_D135_1102_A0A6_4D8E_0CF9_5DA1,
        0x2796_0835_0B40_B48D_4B50_571E_1140_AD2E,
    );
    let name = "genSelfSignedCertWithKey";
    check(
        3,
        serial_3,
        1_794_783_708,
        name,
        &args,
        include_str!("tests/helm3-self-signed.pem"),
    );
    check(
        4,
        serial_4,
        1_794_783_709,
        name,
        &args,
        include_str!("tests/helm4-self-signed.pem"),
    );
}

#[test]
fn a_validity_that_is_too_long_overflows_as_in_helm() {
    let args = [
        Value::str("é*"),
        Value::Int(200_000),
        Value::str(AUTHORITY_KEY),
    ];
    let (serial_3, serial_4) = (
        0x174E_C805_B36C_BE43_354C_3AD3_C1EE_5380,
        0xDD09_932C_9121_59A4_526C_DDCE_BB64_8CF8,
    );
    let name = "genCAWithKey";
    check(
        3,
        serial_3,
        1_794_783_708,
        name,
        &args,
        include_str!("tests/helm3-wrapped.pem"),
    );
    check(
        4,
        serial_4,
        1_794_783_709,
        name,
        &args,
        include_str!("tests/helm4-wrapped.pem"),
    );
}

#[test]
fn generates_keys_through_the_host() {
    let host = SerialHost {
        serial: 7,
        now: 0,
        at: Cell::new(0),
    };
    let authority = call(&host, 3, "genCA", &[Value::str("ca"), Value::Int(1)]);
    let args = [
        Value::str("x"),
        Value::Nil,
        Value::Nil,
        Value::Int(1),
        authority,
    ];
    let signed = call(&host, 4, "genSignedCert", &args);
    let alone = call(&host, 4, "genSelfSignedCert", &args[..4]);
    for certificate in [&signed, &alone] {
        assert_eq!(field(certificate, "Key"), AUTHORITY_KEY);
    }
    let Value::Str(key) = call(&host, 3, "genPrivateKey", &[Value::str("rsa")]) else {
        panic!("no key");
    };
    assert_eq!(key.to_text(), AUTHORITY_KEY);
}

#[test]
fn generates_a_consistent_dsa_key() {
    let host = crate::functions::tests::host::FixedHost::default();
    let call = Call {
        host: &host,
        dialect: &Dialect::HELM_4,
        memory_bytes: usize::MAX,
    };
    let key = dsa::generate(&call, (256, 64)).unwrap();
    let read = dsa::DsaKey::from_der(&key.to_der()).expect("its own form");
    assert_eq!(read.to_der(), key.to_der());
    let [p, q, generator, public, secret] = key.numbers();
    assert_eq!((p - 1_u32) % q, num_bigint::BigUint::ZERO);
    assert_eq!(generator.modpow(secret, p), *public);
}
