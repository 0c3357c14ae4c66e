//! The Helm version to be compatible with, and all observable differences between Helm 3.17 and Helm 4.2.

use outrigger_gotmpl::function::Dialect;

/// The Helm version whose results are reproduced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Helm 3.17.3, built with Go 1.23.
    Helm3,
    /// Helm 4.2.4, built with Go 1.26.
    #[default]
    Helm4,
}

impl Profile {
    pub fn rules(self) -> &'static Rules {
        match self {
            Self::Helm3 => &HELM3,
            Self::Helm4 => &HELM4,
        }
    }

    pub fn dialect(self) -> Dialect {
        let is_helm4 = self == Self::Helm4;
        Dialect {
            range_over_int: is_helm4,
            must_to_functions: is_helm4,
        }
    }
}

/// The behavior of one Helm version.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a table of differences")]
pub struct Rules {
    // Type names in templates and errors.
    /// Go type of `.Values` and `.Template`.
    pub values_type: &'static str,
    /// Go package of the chart types.
    pub chart_package: &'static str,
    /// Go package of `Capabilities` and its parts.
    pub capabilities_package: &'static str,
    /// `.Chart` is a map (unknown fields are empty) and not a struct (unknown fields are errors).
    pub chart_is_map: bool,

    // Loading.
    /// `Chart.yaml` is read first, and an unknown `apiVersion` is rejected.
    pub detects_api_version: bool,
    /// Charts named `.` or `..` are rejected.
    pub rejects_dot_names: bool,
    /// Values files may contain several documents, which are merged; otherwise only the first is used.
    pub multi_document_values: bool,
    /// The name of the total size limit of an archive in its error.
    pub total_limit_name: &'static str,

    // Values.
    /// `--set-json '{...}'` accepts an object.
    pub set_json_accepts_objects: bool,
    /// Nulls in default values are dropped, and a null only deletes values that are not null.
    pub strips_null_defaults: bool,
    /// Copies for aliases are deep: they share neither dependencies nor subcharts.
    pub aliases_are_deep: bool,
    /// Import paths that are not strings are formatted and used; otherwise they are rejected.
    pub import_paths_are_formatted: bool,
    /// The prefix of the error about an invalid release name.
    pub release_name_prefix: &'static str,
    /// The prefix of errors of dependency processing.
    pub dependency_error_prefix: &'static str,
    /// The prefix of the error about missing dependencies.
    pub missing_dependencies_prefix: &'static str,

    // Rendering.
    pub kube_minor: u32,
    pub helm_version: &'static str,
    pub helm_git_commit: &'static str,
    pub go_version: &'static str,
    /// `HelmVersion.KubeClientVersion`, which Helm 3 does not have.
    pub kube_client_version: Option<&'static str>,
    /// `KubeVersion.Version` keeps the suffix of the vendor; comparisons use the version without it.
    pub kube_version_keeps_suffix: bool,

    // Manifests.
    /// Documents start only at `---` at the start of a line and keep trailing blank lines.
    pub splits_at_line_start_only: bool,
    /// Webhook configurations are installed last and removed first.
    pub orders_webhooks: bool,
    /// Hooks support `helm.sh/hook-output-log-policy`.
    pub hook_log_policies: bool,

    // Package and show.
    pub gzip_extra: &'static [u8],
    /// The word "annotation" in the lint error about annotations without effect.
    pub list_annotation_word: &'static str,
    /// `show crds` prints `---` before each file without it; otherwise only `show all` does, once.
    pub separates_shown_crds: bool,
    pub invalid_schema_text: &'static str,
}

const HELM3: Rules = Rules {
    values_type: "chartutil.Values",
    chart_package: "chart",
    capabilities_package: "chartutil",
    chart_is_map: false,
    detects_api_version: false,
    rejects_dot_names: false,
    multi_document_values: false,
    total_limit_name: "maximum file size",
    set_json_accepts_objects: false,
    strips_null_defaults: false,
    aliases_are_deep: false,
    import_paths_are_formatted: false,
    release_name_prefix: "",
    dependency_error_prefix: "",
    missing_dependencies_prefix: "An error occurred while checking for chart dependencies. You may need to run `helm dependency build` to fetch missing dependencies: ",
    kube_minor: 32,
    helm_version: "v3.17.3",
    helm_git_commit: "e4da49785aa6e6ee2b86efd5dd9e43400318262b",
    go_version: "go1.23.7",
    kube_client_version: None,
    kube_version_keeps_suffix: false,
    splits_at_line_start_only: false,
    orders_webhooks: false,
    hook_log_policies: false,
    gzip_extra: b"+aHR0cHM6Ly95b3V0dS5iZS96OVV6MWljandyTQo=",
    list_annotation_word: "Annotation",
    separates_shown_crds: false,
    invalid_schema_text: "Invalid JSON in values.schema.json",
};

const HELM4: Rules = Rules {
    values_type: "common.Values",
    chart_package: "v2",
    capabilities_package: "common",
    chart_is_map: true,
    detects_api_version: true,
    rejects_dot_names: true,
    multi_document_values: true,
    total_limit_name: "maximum size",
    set_json_accepts_objects: true,
    strips_null_defaults: true,
    aliases_are_deep: true,
    import_paths_are_formatted: true,
    release_name_prefix: "release name check failed: ",
    dependency_error_prefix: "chart dependencies processing failed: ",
    missing_dependencies_prefix: "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to fetch missing dependencies: ",
    kube_minor: 36,
    helm_version: "v4.2.4",
    helm_git_commit: "",
    go_version: "go1.26.0",
    kube_client_version: Some("v1.36"),
    kube_version_keeps_suffix: true,
    splits_at_line_start_only: true,
    orders_webhooks: true,
    hook_log_policies: true,
    gzip_extra: b"rr\x28\x00aHR0cHM6Ly95b3V0dS5iZS96OVV6MWljandyTQo=",
    list_annotation_word: "annotation",
    separates_shown_crds: true,
    invalid_schema_text: "invalid JSON in values.schema.json",
};
