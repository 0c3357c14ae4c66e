//! Renders a chart with values to manifests, as `helm template` does.

pub mod release_name;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use outrigger_gotmpl::function::Host;
use outrigger_gotmpl::value::{Map, memory};
use outrigger_gotmpl::{Engine, Limits, ParseCache, on_stack};

use crate::capabilities::Capabilities;
use crate::chart::{Chart, Crd, crd_files};
use crate::chart_tree::{ChartTree, NodeId};
use crate::coalesce::Nulls;
use crate::context::{self, Operation, Release, Renderable};
use crate::dependencies;
use crate::error::{Error, TemplateError};
use crate::load::WarnFn;
use crate::manifest::{self, Manifest, hook::Hook};
use crate::profile::Profile;
use crate::{coalesce, schema, version};
use outrigger_gostd::path;

const NOTES: &str = "NOTES.txt";

#[derive(Debug, Clone)]
pub struct RenderOptions {
    pub profile: Profile,
    pub release: Release,
    pub capabilities: Capabilities,
    /// Do not validate values against `values.schema.json`.
    pub skip_schema: bool,
    /// Include the notes of subcharts.
    pub sub_notes: bool,
    /// `fail` and `required` do not fail, as in `helm lint`.
    pub lint: bool,
    pub limits: Limits,
}

impl RenderOptions {
    /// The options of `helm template NAME CHART --namespace NAMESPACE`.
    pub fn new(profile: Profile, name: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self {
            profile,
            release: Release {
                name: name.into(),
                namespace: namespace.into(),
                revision: 1,
                operation: Some(Operation::Install),
            },
            capabilities: Capabilities::offline(profile),
            skip_schema: false,
            sub_notes: false,
            lint: false,
            limits: Limits::default(),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Rendered {
    /// In the order of installation.
    pub manifests: Vec<Manifest>,
    /// Sorted by kind.
    pub hooks: Vec<Hook>,
    /// The files of `crds/`, not rendered.
    pub crds: Vec<Crd>,
    pub notes: Option<String>,
}

impl Rendered {
    pub(crate) fn size_hint(&self) -> usize {
        let manifests = self
            .manifests
            .iter()
            .map(|m| m.content.len() + m.path.len() + 20);
        manifests.sum()
    }
}

/// Renders a chart with the user's values.
pub fn render(
    chart: &Chart,
    values: &Map,
    options: &RenderOptions,
    host: &dyn Host,
    warn: WarnFn<'_>,
) -> Result<Rendered, Error> {
    render_cached(
        chart,
        values,
        options,
        host,
        warn,
        &mut ParseCache::default(),
    )
}

/// As [`render`], with a cache of parsed templates. A panic is an error of this render.
pub fn render_cached(
    chart: &Chart,
    values: &Map,
    options: &RenderOptions,
    host: &dyn Host,
    warn: WarnFn<'_>,
    cache: &mut ParseCache,
) -> Result<Rendered, Error> {
    let render = || render_chart(chart, values, options, host, warn, cache);
    let render = || on_stack(&options.limits, render);
    catch_unwind(AssertUnwindSafe(render)).unwrap_or_else(|panic| Err(Error::panicked(&*panic)))
}

fn render_chart(
    chart: &Chart,
    values: &Map,
    options: &RenderOptions,
    host: &dyn Host,
    warn: WarnFn<'_>,
    cache: &mut ParseCache,
) -> Result<Rendered, Error> {
    let profile = options.profile;
    check_installable(chart, profile, warn)?;
    release_name::check(&options.release.name, profile)?;
    let mut tree = ChartTree::new(chart);
    dependencies::process(&mut tree, values, profile, &mut *warn)?;
    let values = coalesce::coalesce(
        &tree,
        ChartTree::ROOT,
        values,
        Nulls::Remove,
        profile,
        &mut *warn,
    )?;
    if !options.skip_schema {
        schema::validate(&tree, &values, profile)?;
    }
    check_kube_version(chart, &options.capabilities, profile)?;
    let mut files = render_files(&tree, &values, options, host, cache)?;
    let notes = take_notes(&mut files, tree.name(ChartTree::ROOT), options.sub_notes);
    let (hooks, manifests) = manifest::sort(&files, profile, warn)?;
    Ok(Rendered {
        manifests,
        hooks,
        crds: crds(&tree),
        notes,
    })
}

/// Rejects library charts and charts with missing dependencies.
fn check_installable(
    chart: &Chart,
    profile: Profile,
    warn: &mut dyn FnMut(String),
) -> Result<(), Error> {
    match chart.metadata.chart_type.as_str() {
        "" | "application" => {}
        other => return Err(Error::NotInstallable(other.to_owned())),
    }
    if chart.metadata.deprecated {
        warn("this chart is deprecated".to_owned());
    }
    dependencies::check_dependencies(chart).map_err(|source| Error::Missing {
        prefix: profile.rules().missing_dependencies_prefix,
        source,
    })
}

fn check_kube_version(
    chart: &Chart,
    capabilities: &Capabilities,
    profile: Profile,
) -> Result<(), Error> {
    let range = &chart.metadata.kube_version;
    let kube = &capabilities.kube_version;
    if range.is_empty() || version::satisfies(range, &kube.normalized, profile) {
        return Ok(());
    }
    Err(Error::KubeVersion {
        range: range.clone(),
        version: kube.version.clone(),
    })
}

/// Executes all templates that are not partials. Returns the output by template name.
pub(crate) fn render_files(
    tree: &ChartTree<'_>,
    values: &Map,
    options: &RenderOptions,
    host: &dyn Host,
    cache: &mut ParseCache,
) -> Result<BTreeMap<String, Vec<u8>>, TemplateError> {
    let profile = options.profile;
    let dialect = profile.dialect();
    let templates = context::templates(tree, values, options);
    let order = execution_order(&templates);
    let mut engine = Engine::new(dialect.clone(), options.limits.clone()).lint(options.lint);
    let mut tree_bytes = 0;
    for &(name, template) in &order {
        let parsed = cache
            .parse(name, &template.source, &dialect)
            .map_err(TemplateError::Parse)?;
        tree_bytes += parsed.memory_bytes();
        if tree_bytes > options.limits.memory_bytes {
            memory::set_limit_reached();
            return Err(TemplateError::Memory(options.limits.memory_bytes));
        }
        engine.add(parsed);
    }
    let mut rendered = BTreeMap::new();
    for (name, template) in order {
        if path::base(name).starts_with('_') {
            continue;
        }
        let mut out = Vec::new();
        engine
            .render(name, &template.dot(name, profile), host, &mut out)
            .map_err(|error| TemplateError::exec(&error, profile))?;
        rendered.insert(name.to_owned(), out);
    }
    Ok(rendered)
}

/// Deepest path first, then reverse byte order. The order matters, since templates may change shared maps.
fn execution_order(templates: &BTreeMap<String, Renderable>) -> Vec<(&str, &Renderable)> {
    let mut order: Vec<(&str, &Renderable)> = templates
        .iter()
        .map(|(name, template)| (name.as_str(), template))
        .collect();
    order.sort_by_key(|(name, _)| {
        let depth = name.bytes().filter(|&b| b == b'/').count();
        Reverse((depth, *name))
    });
    order
}

/// Removes all notes from the rendered files, and returns those to print.
fn take_notes(
    files: &mut BTreeMap<String, Vec<u8>>,
    root: &str,
    sub_notes: bool,
) -> Option<String> {
    let own = format!("{root}/templates/{NOTES}");
    let names: Vec<String> = files
        .keys()
        .filter(|name| name.ends_with(NOTES))
        .cloned()
        .collect();
    let mut notes: Option<String> = None;
    for name in names {
        let text = files.remove(&name).unwrap_or_default();
        if !sub_notes && name != own {
            continue;
        }
        let text = String::from_utf8_lossy(&text);
        let notes = notes.get_or_insert_with(String::new);
        if !notes.is_empty() {
            notes.push('\n');
        }
        notes.push_str(&text);
    }
    notes
}

/// The files of `crds/` of all enabled charts.
fn crds(tree: &ChartTree<'_>) -> Vec<Crd> {
    fn collect(tree: &ChartTree<'_>, id: NodeId, crds: &mut Vec<Crd>) {
        let node = tree.node(id);
        let path = tree.full_path(id);
        crds.extend(crd_files(&node.chart.files).map(|file| Crd {
            name: file.name.clone(),
            path: format!("{path}/{}", file.name),
            data: file.data.clone(),
        }));
        for &child in &node.children {
            collect(tree, child, crds);
        }
    }
    let mut crds = Vec::new();
    collect(tree, ChartTree::ROOT, &mut crds);
    crds
}
