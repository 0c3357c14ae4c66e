//! Charts in OCI registries: `oci://HOST[:PORT]/PATH[/CHART][@DIGEST]`. Versions are tags.

use std::sync::{Mutex, PoisonError};

use outrigger_gostd::semver::Version;
use outrigger_oci::{
    Backoff, Blob as OciBlob, Client, Descriptor, Digest, Error as OciError, Reference, Repository,
    Resolved, Tls, chart_layer, tag_of_version, version_of_tag,
};

use url::Url;

use crate::access::Access;
use crate::index::{newest_first, select};
use crate::request::Options;
use crate::{Error, Request};

/// A repository prefix or a chart in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciSource {
    repository: String,
    digest: Option<Digest>,
}

/// A chart that was found in a registry.
#[derive(Debug)]
pub(crate) struct OciChart {
    client: Client,
    repository: Repository,
    pub(crate) layer: Descriptor,
}

/// One client for each registry and set of credentials, so that tokens are never shared between users.
#[derive(Debug, Default)]
pub(crate) struct OciClients {
    clients: Mutex<Vec<(String, Access, Client)>>,
}

const MAX_CLIENTS: usize = 64;

/// Versions that an error suggests.
const MAX_SUGGESTIONS: usize = 5;

impl OciSource {
    /// Parses what follows `oci://`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (
                name,
                Some(
                    digest
                        .parse::<Digest>()
                        .map_err(|error| error.to_string())?,
                ),
            ),
            None => (text, None),
        };
        let name = name.trim_end_matches('/');
        let (host, path) = name.split_once('/').unwrap_or((name, ""));
        // A prefix may be the registry itself; a chart is below it.
        let check = if path.is_empty() {
            format!("{host}/chart")
        } else {
            name.to_owned()
        };
        let (host, path) = check.split_once('/').unwrap_or((host, path));
        Repository::new(host, path).map_err(|error| error.to_string())?;
        let repository = name.to_owned();
        Ok(Self { repository, digest })
    }

    /// The repository of a chart. The source may name it itself.
    pub(crate) fn repository(&self, chart: &str) -> Result<Repository, OciError> {
        let is_named = chart.is_empty()
            || self.digest.is_some()
            || self.repository.ends_with(&format!("/{chart}"));
        let name = if is_named {
            self.repository.clone()
        } else {
            format!("{}/{chart}", self.repository)
        };
        let (host, path) = name.split_once('/').unwrap_or((&name, ""));
        Ok(Repository::new(host, path)?)
    }

    pub(crate) fn url(&self) -> String {
        format!("oci://{}", self.repository)
    }
}

impl OciClients {
    /// The client for these credentials. They are sent to this registry only.
    pub(crate) fn get(&self, options: &Options, registry: &str, access: &Access) -> Client {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |of: &str, other: &Access| of == registry && other == access;
        if let Some((.., client)) = clients.iter().find(|(of, other, _)| is_same(of, other)) {
            return client.clone();
        }
        let mut settings = outrigger_oci::Options {
            plain_http: options.plain_http.clone(),
            mirrors: options.image_mirrors.clone(),
            docker: options.docker.clone(),
            token_realms: options.token_realms.clone(),
            allow_local_redirects: options.allow_local_redirects,
            refuse_local_addresses: options.rules.refuse_local_addresses,
            backoff: Backoff {
                max_attempts: options.max_attempts,
                initial: options.initial_backoff,
                max: std::time::Duration::from_secs(10),
            },
            connect_timeout: options.connect_timeout,
            first_byte_timeout: options.first_byte_timeout,
            read_timeout: options.read_timeout,
            ..outrigger_oci::Options::default()
        };
        let ca = options.ca.clone();
        let others = Tls { ca, client: None };
        settings.tls.insert(String::new(), others);
        for (server, login) in &options.logins {
            let ca = login.tls.ca.as_ref().or(options.ca.as_ref());
            let ca = ca.cloned();
            settings
                .tls
                .insert(server.clone(), Tls { ca, client: None });
        }
        settings.tls.insert(registry.to_owned(), access.tls.clone());
        if let Some(credentials) = &access.credentials {
            settings
                .credentials
                .insert(registry.to_owned(), credentials.clone());
        }
        let client = Client::new(settings);
        if clients.len() == MAX_CLIENTS {
            clients.remove(0);
        }
        clients.push((registry.to_owned(), access.clone(), client.clone()));
        client
    }
}

/// Whether the registry of a source answers and accepts the credentials.
pub(crate) async fn ping(
    clients: &OciClients,
    options: &Options,
    source: &OciSource,
    access: &Access,
) -> Result<(), Error> {
    let failed = |error: OciError| Error::Oci {
        url: source.url(),
        source: Box::new(error),
    };
    let repository = source
        .repository("")
        .or_else(|_| source.repository("chart"))
        .map_err(failed)?;
    check_registry(options, &repository)?;
    let client = clients.get(options, repository.registry(), access);
    client.ping(&repository).await.map_err(failed)
}

/// Whether the registry of a source has a mirror.
pub(crate) fn is_mirrored(options: &Options, source: &OciSource) -> bool {
    let repository = source
        .repository("")
        .or_else(|_| source.repository("chart"));
    let image = repository.and_then(|repository| Ok(repository.with_tag("latest")?));
    let candidates = |image| options.image_mirrors.candidates(&image);
    image.is_ok_and(|image| {
        candidates(image.clone()).is_ok_and(|found| found.first() != Some(&image))
    })
}

/// Refuses a registry on the node. Names are checked when they are resolved, and redirects by the client.
fn check_registry(options: &Options, repository: &Repository) -> Result<(), Error> {
    match Url::parse(&format!("https://{}/", repository.registry())) {
        Ok(url) => options.rules.check_url(&url),
        Err(_) => Ok(()),
    }
}

/// Finds the version of a chart that a request selects.
pub(crate) async fn find(
    clients: &OciClients,
    options: &Options,
    source: &OciSource,
    request: &Request,
) -> Result<OciChart, Error> {
    let failed = |error: OciError| oci_error(source, request, error);
    let repository = source.repository(&request.chart).map_err(failed)?;
    check_registry(options, &repository)?;
    let client = clients.get(options, repository.registry(), &request.access);
    let resolved = match &source.digest {
        Some(digest) => client
            .resolve(&repository.with_digest(digest.clone()))
            .await
            .map_err(failed)?,
        None => resolve_version(&client, &repository, source, request).await?,
    };
    let layer = chart_layer(&resolved.manifest.parsed)
        .cloned()
        .ok_or_else(|| Error::InvalidSource {
            url: source.url(),
            reason: format!("{} is not a Helm chart", resolved.location),
        })?;
    let repository = resolved.location.repository().clone();
    Ok(OciChart {
        client,
        repository,
        layer,
    })
}

/// An exact version is a tag; a range is selected among all tags.
async fn resolve_version(
    client: &Client,
    repository: &Repository,
    source: &OciSource,
    request: &Request,
) -> Result<Resolved, Error> {
    let failed = |error: OciError| oci_error(source, request, error);
    let wanted = request
        .version
        .as_deref()
        .filter(|version| !version.is_empty());
    if let Some(version) = wanted.filter(|version| is_exact(version)) {
        let tag = repository
            .with_tag(&tag_of_version(version))
            .map_err(|error| failed(error.into()))?;
        match client.resolve(&tag).await {
            Err(error) if error.is_not_found() => {}
            result => return result.map_err(failed),
        }
    }
    let tags = tags(client, repository).await.map_err(failed)?;
    let Some(version) = newest(&tags, wanted)? else {
        return Err(Error::NotFound {
            location: source.url(),
            chart: request.chart.clone(),
            version: wanted.map(str::to_owned),
            nearest: newest_versions(&tags),
        });
    };
    let tag = repository
        .with_tag(&tag_of_version(&version))
        .map_err(|error| failed(error.into()))?;
    client.resolve(&tag).await.map_err(failed)
}

/// The newest version that a request selects among many tags: the exact one, else the newest in the range.
fn newest(tags: &[String], wanted: Option<&str>) -> Result<Option<String>, Error> {
    let mut newest: Option<(Version, String)> = None;
    for text in tags.iter().map(|tag| version_of_tag(tag)) {
        if Some(text.as_str()) == wanted {
            return Ok(Some(text));
        }
        let Ok(version) = Version::parse(&text) else {
            continue;
        };
        let is_newer = newest
            .as_ref()
            .is_none_or(|(other, _)| version.compare(other).is_gt());
        if is_newer && select(&[&text], wanted)?.is_some() {
            newest = Some((version, text));
        }
    }
    Ok(newest.map(|(_, text)| text))
}

/// The newest versions among many tags, for an error.
fn newest_versions(tags: &[String]) -> Vec<String> {
    let mut newest: Vec<String> = Vec::new();
    for text in tags.iter().map(|tag| version_of_tag(tag)) {
        if Version::parse(&text).is_err() {
            continue;
        }
        let position = newest.partition_point(|other| newest_first(other, &text).is_le());
        if position < MAX_SUGGESTIONS {
            newest.insert(position, text);
            newest.truncate(MAX_SUGGESTIONS);
        }
    }
    newest
}

/// The tags of a repository, or of its first mirror that answers.
async fn tags(client: &Client, repository: &Repository) -> Result<Vec<String>, OciError> {
    let any: Reference = repository.with_tag("latest")?;
    let mut result = Ok(Vec::new());
    for candidate in client.candidates(&any)? {
        result = client.tags(candidate.repository()).await;
        if result.is_ok() {
            break;
        }
    }
    result
}

fn is_exact(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or(version);
    core.split('.').count() == 3 && Version::parse(version).is_ok()
}

impl OciChart {
    /// Downloads the archive, which is verified against its digest.
    pub(crate) async fn download(&self, limit: u64) -> Result<Vec<u8>, Error> {
        let blob = OciBlob::remote(&self.client, &self.repository, &self.layer);
        blob.read_all(limit).await.map_err(|source| Error::Oci {
            url: format!("oci://{}", self.repository),
            source: Box::new(source),
        })
    }
}

fn oci_error(source: &OciSource, request: &Request, error: OciError) -> Error {
    if error.is_not_found() {
        return Error::NotFound {
            location: source.url(),
            chart: request.chart.clone(),
            version: request.version.clone(),
            nearest: Vec::new(),
        };
    }
    Error::Oci {
        url: source.url(),
        source: Box::new(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_name_a_prefix_or_a_chart() {
        let repository = |text: &str, chart: &str| {
            OciSource::parse(text)
                .unwrap()
                .repository(chart)
                .unwrap()
                .to_string()
        };
        assert_eq!(
            repository("r.local:5000/charts", "web"),
            "r.local:5000/charts/web"
        );
        assert_eq!(
            repository("r.local:5000/charts/web", "web"),
            "r.local:5000/charts/web"
        );
        assert_eq!(
            repository("r.local:5000/charts/web/", ""),
            "r.local:5000/charts/web"
        );
        assert_eq!(repository("r.local:5000", "web"), "r.local:5000/web");
        for text in [
            "",
            "/x",
            "a b",
            "r.local/A",
            "user:secret@r.local/x",
            "r.local/x@sha256:0",
        ] {
            assert!(OciSource::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_newest_tag_of_a_range_is_selected() {
        let tags = [
            "1.0.0",
            "1.10.0",
            "1.9.0",
            "2.0.0-rc.1",
            "latest",
            "1.10.0_b",
        ];
        let tags: Vec<String> = tags.map(str::to_owned).to_vec();
        let check = |wanted: Option<&str>| newest(&tags, wanted).unwrap();
        assert_eq!(check(None).as_deref(), Some("1.10.0"));
        assert_eq!(check(Some("~1.9")).as_deref(), Some("1.9.0"));
        assert_eq!(check(Some("2.0.0-rc.1")).as_deref(), Some("2.0.0-rc.1"));
        assert_eq!(check(Some("1.10.0+b")).as_deref(), Some("1.10.0+b"));
        assert_eq!(check(Some("^3")), None);
        assert!(newest(&tags, Some("not a range")).is_err());
        let newest = newest_versions(&tags);
        assert_eq!(newest[0], "2.0.0-rc.1");
        assert_eq!(newest.len(), 5);
    }

    #[test]
    fn only_full_versions_are_exact() {
        assert!(is_exact("1.2.3") && is_exact("v1.2.3-rc.1+b"));
        assert!(
            !is_exact("1.2")
                && !is_exact("^1.2.3")
                && !is_exact("1.2.x")
                && !is_exact(">=1.0.0, <2.0.0")
        );
    }
}
