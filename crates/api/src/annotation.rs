//! The annotations that Outrigger reads.

/// On a custom resource definition: the prefix of names that are generated for objects without a name.
pub const GENERATED_NAME_PREFIX: &str = "outrigger.dev/generated-name-prefix";

/// On a plugin, `"true"`: its dependents are removed first when it is disabled or deleted.
pub const CASCADE: &str = "outrigger.dev/cascade";

/// On a plugin, `"true"`: it is removed even if it has dependents or objects that cannot be deleted.
pub const FORCE: &str = "outrigger.dev/force";
