//! Lists of certificates as machines print them. The certificates are made by `rcgen`.

use super::*;

const NOW: &str = "2026-11-19T12:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// The PEM text of a certificate that expires at noon of a day.
fn pem(subject: &str, (year, month, day): (i32, u8, u8)) -> String {
    let mut parameters = rcgen::CertificateParams::new([]).unwrap();
    parameters.not_after = rcgen::date_time_ymd(year, month, day);
    parameters
        .distinguished_name
        .push(rcgen::DnType::OrganizationName, "system:masters");
    parameters
        .distinguished_name
        .push(rcgen::DnType::CommonName, subject);
    let key = rcgen::KeyPair::generate().unwrap();
    parameters.self_signed(&key).unwrap().pem()
}

#[test]
fn files_with_several_certificates_and_kubeconfigs_are_listed() {
    let data = STANDARD.encode(pem("kubernetes-admin", (2027, 1, 1)));
    let text = format!(
        "file /etc/kubernetes/pki/ca.crt\n{}{}file /etc/kubernetes/admin.conf\ndata {data}\nfile /etc/kubernetes/kubelet.conf\n\
         file /var/lib/kubelet/pki/kubelet-client-current.pem\n{}certificates end\n",
        pem("kubernetes", (2036, 11, 1)),
        pem("old", (2051, 2, 3)),
        pem("system:node:cp1", (2027, 11, 19)),
    );
    let certificates = parse(&text).unwrap();
    let found: Vec<(&str, &str, String)> = certificates
        .iter()
        .map(|it| (it.name(), &*it.subject, it.expires.to_string()))
        .collect();
    let expected = [
        ("ca", "kubernetes", "2036-11-01T00:00:00Z"),
        // After 2049, the time is written in another way.
        ("ca", "old", "2051-02-03T00:00:00Z"),
        ("admin.conf", "kubernetes-admin", "2027-01-01T00:00:00Z"),
        ("kubelet-client", "system:node:cp1", "2027-11-19T00:00:00Z"),
    ];
    let expected = expected.map(|(name, subject, expires)| (name, subject, expires.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn a_list_that_is_cut_off_is_not_a_short_list() {
    let pem = pem("a", (2027, 1, 1));
    let text = format!("file /etc/kubernetes/pki/ca.crt\n{pem}");
    assert_eq!(parse(&text), Err(ListError::CutOff));
    assert_eq!(parse(""), Err(ListError::CutOff));
}

#[test]
fn what_is_no_certificate_is_named_and_nothing_panics() {
    let pem = pem("a", (2027, 1, 1));
    let list =
        |base64: &str| format!("file /x.crt\n{BEGIN_PEM}\n{base64}\n{END_PEM}\ncertificates end\n");
    let error = parse(&list("AAAA")).unwrap_err().to_string();
    assert_eq!(error, "/x.crt: it is not an X.509 certificate");
    assert!(parse(&list("%")).is_err());
    assert!(parse("file /a.conf\ndata AAAA\ncertificates end\n").is_err());
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let der = STANDARD.decode(&body).unwrap();
    assert!(parse(&list(&body)).is_ok());
    // Whatever is cut off or changed is an error or another certificate.
    for length in 0..der.len() {
        assert!(x509::parse(&der[..length]).is_err(), "{length}");
        for byte in [0, 0x80, 0x84, 0xff] {
            let mut changed = der.clone();
            changed[length] = byte;
            let _ = x509::parse(&changed);
        }
    }
}

#[test]
fn certificates_expire_after_a_warning() {
    let certificate = |expires: &str| Certificate {
        file: "/etc/kubernetes/pki/apiserver.crt".to_owned(),
        subject: String::new(),
        expires: expires.parse().unwrap(),
    };
    let check = |expires: &str, days, validity| {
        let certificate = certificate(expires);
        assert_eq!(certificate.days_left(now()), days, "{expires}");
        assert_eq!(certificate.validity(now()), validity, "{expires}");
    };
    check("2027-11-19T12:00:00Z", 365, Validity::Valid);
    check("2026-12-19T12:00:00Z", 30, Validity::Valid);
    check("2026-12-19T11:59:59Z", 29, Validity::Expiring);
    check("2026-11-19T12:00:01Z", 0, Validity::Expiring);
    check(NOW, 0, Validity::Expired);
    check("2026-11-18T13:00:00Z", -1, Validity::Expired);
}
