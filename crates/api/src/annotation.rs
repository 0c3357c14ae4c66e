//! The annotations that mean something to Outrigger.

/// On a definition: objects of the kind that come without a name get one that begins like this.
pub const GENERATED_NAME_PREFIX: &str = "outrigger.dev/generated-name-prefix";

/// On a plugin, `"true"`: what depends on it goes first when it is switched off or removed.
pub const CASCADE: &str = "outrigger.dev/cascade";

/// On a plugin, `"true"`: it goes though others depend on it, and though something of it cannot be removed.
pub const FORCE: &str = "outrigger.dev/force";
