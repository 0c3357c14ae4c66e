//! Credentials: who gets them, and what they permit.

use std::collections::BTreeMap;

use outrigger_oci::{Client, Credentials, Error, Secret};
use outrigger_registry::{Access, ServerOptions};

use crate::server::{Registry, content, options, push};

async fn restricted(tokens: bool, anonymous_pull: bool) -> Registry {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("htpasswd");
    // The hash of hunter2, with a low cost.
    fs_err::write(
        &path,
        format!("ann:{}\n", bcrypt::hash("hunter2", 4).unwrap()),
    )
    .unwrap();
    let mut access = Access::read(&path).unwrap();
    access.tokens = tokens;
    access.anonymous_pull = anonymous_pull;
    Registry::with(ServerOptions {
        access,
        ..ServerOptions::default()
    })
    .await
}

fn user(registry: &Registry, password: &str) -> Client {
    let mut settings = options(&[&registry.address]);
    let credentials = Credentials::Basic {
        username: "ann".to_owned(),
        password: Secret::new(password),
    };
    settings.credentials = BTreeMap::from([(registry.address.clone(), credentials)]);
    Client::new(settings)
}

#[tokio::test]
async fn users_push_and_others_pull_at_most() {
    for tokens in [false, true] {
        let registry = restricted(tokens, true).await;
        let image = registry.image("team/app:1");
        push(&user(&registry, "hunter2"), &image, &[content(1, 1000)]).await;
        let anonymous = Client::new(options(&[&registry.address]));
        if tokens {
            anonymous.manifest(&image).await.unwrap();
        }
        let error = user(&registry, "wrong")
            .manifest(&registry.image("team/app:1"))
            .await;
        if !tokens {
            // Pulls need no credentials, so wrong ones are never sent.
            error.unwrap();
        }
        let start = outrigger_oci::Blob::memory(
            b"x".to_vec(),
            &outrigger_oci::Descriptor::new("a/b", outrigger_oci::Digest::of(b"x"), 1),
        );
        let error = anonymous
            .push_blob(image.repository(), start, None)
            .await
            .unwrap_err();
        assert!(
            format!("{error:?}").contains("CredentialsRequired")
                || format!("{error:?}").contains("Unauthorized"),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn wrong_passwords_are_an_error_that_does_not_contain_them() {
    for tokens in [false, true] {
        let registry = restricted(tokens, false).await;
        let error = user(&registry, "hunter3")
            .manifest(&registry.image("a:1"))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Unauthorized { .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("hunter3"));
        assert!(error.hint().is_some());
    }
}
