//! The plugins of this program. The core is plugins too: the pipeline knows none of them by name.

mod api_server;
mod cloudformation;
mod component_files;
mod contributions;
mod control_plane;
mod embedded;
mod etcd;
mod iam;
mod machine_files;
mod network;
mod node_pool;
mod objects;
mod user_data;

use outrigger_goyaml as goyaml;
use serde_json::{Map, Value};

use crate::catalog::Error;
use crate::data;
use crate::plugin::{Failure, Metadata, Origin, Plugin, Request, Response, Staged};

type Run = fn(&Request<'_>) -> Result<Response, Failure>;

/// A plugin that is compiled in.
struct Compiled {
    name: &'static str,
    description: &'static str,
    requires: &'static [&'static str],
    /// Default values as YAML; they are also the known keys.
    defaults: &'static str,
    run: Run,
}

const CORE: [Compiled; 8] = [
    Compiled {
        name: "network",
        description: "VPC, subnets, gateways and security groups",
        requires: &[],
        defaults: network::DEFAULTS,
        run: network::run,
    },
    Compiled {
        name: "iam",
        description: "roles of the machines",
        requires: &[],
        defaults: "",
        run: iam::run,
    },
    Compiled {
        name: "etcd",
        description: "etcd members",
        requires: &["network", "iam"],
        defaults: etcd::DEFAULTS,
        run: etcd::run,
    },
    Compiled {
        name: "api-server",
        description: "the API server and its flags",
        requires: &["etcd"],
        defaults: api_server::DEFAULTS,
        run: api_server::run,
    },
    Compiled {
        name: "control-plane",
        description: "machines of the control plane",
        requires: &["api-server"],
        defaults: control_plane::DEFAULTS,
        run: control_plane::run,
    },
    Compiled {
        name: "node-pool",
        description: "machines of node pools",
        requires: &["control-plane"],
        defaults: node_pool::DEFAULTS,
        run: node_pool::run,
    },
    Compiled {
        name: "user-data",
        description: "Ignition or cloud-config of all machines, and objects for the cluster",
        requires: &[],
        defaults: user_data::DEFAULTS,
        run: user_data::run,
    },
    Compiled {
        name: "cloudformation",
        description: "CloudFormation templates",
        requires: &["user-data"],
        defaults: "",
        run: cloudformation::run,
    },
];

/// Loads the plugins of this program.
pub(crate) fn load() -> Result<Vec<Plugin>, Error> {
    let core = CORE.iter().map(compiled);
    let data = embedded::PLUGINS.iter().map(|embedded| {
        let loaded = data::load(embedded.folder(), embedded.origin);
        loaded.map_err(|source| Error::Builtin {
            name: embedded.name,
            source,
        })
    });
    core.chain(data).collect()
}

fn compiled(core: &Compiled) -> Result<Plugin, Error> {
    let failed = |source: data::Error| Error::Builtin {
        name: core.name,
        source,
    };
    let name = |name: &str| {
        name.parse()
            .map_err(|error| failed(data::Error::Name(error)))
    };
    let mut metadata = Metadata::new(name(core.name)?, env!("CARGO_PKG_VERSION"), Origin::Builtin);
    core.description.clone_into(&mut metadata.description);
    metadata.enabled_by_default = true;
    metadata.requires = core
        .requires
        .iter()
        .map(|required| name(required))
        .collect::<Result<_, _>>()?;
    let defaults = goyaml::parse_json(core.defaults.as_bytes())
        .map_err(|error| failed(data::Error::Yaml(error)))?;
    let defaults: Map<String, Value> = defaults.as_object().cloned().unwrap_or_default();
    Ok(Plugin {
        metadata,
        defaults,
        schema: None,
        body: Box::new(Code {
            name: core.name,
            run: core.run,
        }),
    })
}

struct Code {
    name: &'static str,
    run: Run,
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Code").field(&self.name).finish()
    }
}

impl Staged for Code {
    fn run(&self, request: &Request<'_>) -> Result<Response, Failure> {
        (self.run)(request)
    }
}

#[cfg(test)]
mod tests;
