//! The `Accept` header.

use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING, USER_AGENT};
use outrigger_apimachinery::status::{Details, Reason, Status};

use crate::request::Query;

const PROTOBUF: &str = outrigger_protobuf::MEDIA_TYPE;
const OFFERED: [&str; 3] = ["application/json", "application/yaml", PROTOBUF];

/// The server offers nothing that the client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotAcceptable {
    /// The media type is offered, but not with these parameters.
    has_type: bool,
}

impl NotAcceptable {
    /// The error for custom resources.
    pub(crate) fn custom() -> Status {
        Status::not_acceptable(&OFFERED)
    }

    /// The error for built-in kinds and non-resource paths. Lists can also be streamed.
    pub(crate) fn built_in(self, is_list: bool) -> Status {
        if self.has_type {
            return Self::custom();
        }
        let mut offered = OFFERED.to_vec();
        if is_list {
            offered.extend([
                "application/json;stream=watch",
                "application/vnd.kubernetes.protobuf;stream=watch",
            ]);
        }
        let offered = offered.join(", ");
        let message = format!("406: Not Acceptable\n\nAvailable representations: {offered}");
        Status::new(Reason::NotAcceptable, message).with_details(Details::default())
    }
}

/// The format of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Format {
    #[default]
    Json,
    Yaml,
    /// Only of metadata: other objects are sent as JSON to clients that prefer protobuf.
    Protobuf,
}

/// The representation of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum View {
    #[default]
    Object,
    Table,
    Metadata,
}

/// The negotiated response.
#[expect(clippy::struct_excessive_bools, reason = "each flag is independent")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Accept {
    pub(crate) format: Format,
    pub(crate) view: View,
    pub(crate) pretty: bool,
    pub(crate) gzip: bool,
    /// The client requested a list: `PartialObjectMetadataList`.
    pub(crate) is_list_view: bool,
    /// The client requested the view in `meta.k8s.io/v1beta1`.
    pub(crate) is_beta_view: bool,
    /// Aggregated discovery.
    pub(crate) aggregated: bool,
    /// The client accepts objects as protobuf only. Built-in kinds are sent as JSON nevertheless.
    pub(crate) only_protobuf: bool,
}

impl Accept {
    /// Negotiates the response by the quality values of the client.
    pub(crate) fn parse(headers: &HeaderMap, query: &Query<'_>) -> Result<Self, NotAcceptable> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let base = Self {
            pretty: is_pretty(query, text(USER_AGENT).unwrap_or_default()),
            gzip: text(ACCEPT_ENCODING).is_some_and(accepts_gzip),
            ..Self::default()
        };
        let header = text(ACCEPT).unwrap_or_default();
        if header.trim().is_empty() {
            return Ok(base);
        }
        let mut clauses: Vec<Clause<'_>> = header.split(',').map(Clause::parse).collect();
        clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality));
        let chosen = clauses.iter().find_map(|clause| clause.choose(base));
        let only_protobuf = || {
            clauses.iter().any(Clause::is_protobuf).then_some(Self {
                only_protobuf: true,
                ..base
            })
        };
        chosen.or_else(only_protobuf).ok_or_else(|| NotAcceptable {
            has_type: clauses.iter().any(Clause::has_type),
        })
    }

    /// The `apiVersion` of tables and metadata.
    pub(crate) fn view_version(self) -> &'static str {
        if self.is_beta_view {
            "meta.k8s.io/v1beta1"
        } else {
            "meta.k8s.io/v1"
        }
    }

    /// The default, for errors of requests whose `Accept` header is not acceptable.
    pub(crate) fn any() -> Self {
        Self::default()
    }
}

fn is_pretty(query: &Query<'_>, agent: &str) -> bool {
    match query.text("pretty") {
        "" => ["curl", "Wget", "Mozilla/5.0"]
            .iter()
            .any(|program| agent.starts_with(program)),
        text => matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True"),
    }
}

fn accepts_gzip(header: &str) -> bool {
    header.split(',').any(|clause| {
        let mut parts = clause.split(';').map(str::trim);
        let is_gzip = parts
            .next()
            .is_some_and(|coding| coding.eq_ignore_ascii_case("gzip"));
        is_gzip && !parts.any(|part| matches!(part, "q=0" | "q=0.0"))
    })
}

/// One media type of an `Accept` header.
struct Clause<'h> {
    media_type: String,
    quality: f32,
    kind: &'h str,
    group: &'h str,
    version: &'h str,
    pretty: bool,
}

impl<'h> Clause<'h> {
    fn parse(text: &'h str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let mut clause = Self {
            media_type: parts.next().unwrap_or_default().to_ascii_lowercase(),
            quality: 1.0,
            kind: "",
            group: "",
            version: "",
            pretty: false,
        };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name.trim() {
                "q" => clause.quality = value.trim().parse().unwrap_or(1.0),
                "as" => clause.kind = value.trim(),
                "g" => clause.group = value.trim(),
                "v" => clause.version = value.trim(),
                "pretty" => clause.pretty = value.trim() == "1",
                _ => {}
            }
        }
        clause
    }

    fn has_type(&self) -> bool {
        matches!(self.media_type.as_str(), "application/*" | "*/*")
            || OFFERED.contains(&self.media_type.as_str())
    }

    /// Objects or aggregated discovery as protobuf. There are no tables in protobuf.
    fn is_protobuf(&self) -> bool {
        self.media_type == PROTOBUF && matches!(self.kind, "" | "APIGroupDiscoveryList")
    }

    fn choose(&self, base: Accept) -> Option<Accept> {
        let format = match self.media_type.as_str() {
            "application/json" | "application/*" | "*/*" => Format::Json,
            "application/yaml" => Format::Yaml,
            PROTOBUF if self.kind.starts_with("PartialObjectMetadata") => Format::Protobuf,
            _ => return None,
        };
        let mut chosen = Accept {
            format,
            pretty: base.pretty || self.pretty,
            ..base
        };
        match (self.group, self.kind, self.version) {
            ("", "", "") => {}
            ("meta.k8s.io", kind, "v1" | "v1beta1") => {
                chosen.view = match kind {
                    "Table" => View::Table,
                    "PartialObjectMetadata" | "PartialObjectMetadataList" => View::Metadata,
                    _ => return None,
                };
                chosen.is_list_view = kind.ends_with("List");
                chosen.is_beta_view = self.version == "v1beta1";
            }
            ("apidiscovery.k8s.io", "APIGroupDiscoveryList", "v2") => chosen.aggregated = true,
            _ => return None,
        }
        Some(chosen)
    }
}
