//! Expressions of definitions, of which there may be any number: compiled programs are kept in a cache of bounded size.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::translate::Groups;
use super::{Error, Regexp};

/// The maximum size of a program. Go accepts larger ones: a class with thousands of ranges, repeated hundreds of times.
const MAX_PROGRAM: usize = 8 << 20;
/// The size of the tables that a match builds from the program.
const MAX_TABLES: usize = 128 << 10;
/// The size of each of the two generations of the cache.
const MAX_GENERATION: usize = 32 << 20;
/// The maximum product of the sizes of program and text; a match takes seconds at most.
const MAX_COST: usize = 1 << 37;

/// An expression whose program is compiled when it is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedRegexp(Arc<str>);

/// A compiled program, and how much of it had to be compiled.
#[derive(Debug, Clone)]
pub struct Program {
    pub regexp: Arc<Regexp>,
    /// The size of the program if it was not in the cache, otherwise zero.
    pub compiled: usize,
}

impl CachedRegexp {
    /// An expression that is not checked yet.
    pub fn new(expression: &str) -> Self {
        Self(expression.into())
    }

    /// The compiled program, as `regexp.Compile` returns it.
    pub fn program(&self) -> Result<Program, Error> {
        if let Some(regexp) = cache().find(&self.0) {
            return Ok(Program {
                regexp,
                compiled: 0,
            });
        }
        let expression = self.0.as_bytes();
        let regexp = Regexp::compile_groups(expression, Groups::Ignored, MAX_PROGRAM, MAX_TABLES)?;
        let regexp = Arc::new(regexp);
        cache().insert(Arc::clone(&self.0), Arc::clone(&regexp));
        Ok(Program {
            compiled: regexp.program_size,
            regexp,
        })
    }
}

impl Program {
    /// `Regexp.MatchString`; none if the program and the text are so large that it would take too long.
    pub fn is_match(&self, text: &str) -> Option<bool> {
        let cost = self.regexp.program_size.saturating_mul(text.len());
        (cost <= MAX_COST).then(|| self.regexp.is_match(text.as_bytes()))
    }
}

fn cache() -> MutexGuard<'static, Cache> {
    static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Two generations: what is not used while the young one fills up is dropped.
#[derive(Default)]
struct Cache {
    young: HashMap<Arc<str>, Arc<Regexp>>,
    old: HashMap<Arc<str>, Arc<Regexp>>,
    /// The size of the young generation.
    size: usize,
}

impl Cache {
    fn find(&mut self, expression: &Arc<str>) -> Option<Arc<Regexp>> {
        if let Some(program) = self.young.get(expression) {
            return Some(Arc::clone(program));
        }
        let (expression, program) = self.old.remove_entry(expression)?;
        self.insert(expression, Arc::clone(&program));
        Some(program)
    }

    fn insert(&mut self, expression: Arc<str>, program: Arc<Regexp>) {
        let size = program.program_size + MAX_TABLES + expression.len();
        if self.size + size > MAX_GENERATION {
            self.old = std::mem::take(&mut self.young);
            self.size = 0;
        }
        if self.young.insert(expression, program).is_none() {
            self.size += size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_match(expression: &str, text: &str) -> Option<bool> {
        let program = CachedRegexp::new(expression).program().unwrap();
        program.is_match(text)
    }

    #[test]
    fn programs_that_are_not_used_are_dropped_and_compiled_again() {
        assert_eq!(is_match("^first$", "first"), Some(true));
        for number in 0..2_000 {
            assert_eq!(is_match(&format!("^other-{number}$"), "other"), Some(false));
        }
        let cache = cache();
        assert!(!cache.young.contains_key("^first$") && !cache.old.contains_key("^first$"));
        assert!(cache.young.len() + cache.old.len() < 400);
        drop(cache);
        assert_eq!(is_match("^first$", "first"), Some(true));
    }

    #[test]
    fn groups_cost_no_memory_if_they_are_only_matched() {
        let groups = "(a|a)*".repeat(5_000);
        assert_eq!(is_match(&groups, "aaa"), Some(true));
        assert!(Regexp::compile(groups.as_bytes()).is_err());
        assert!(Regexp::compile("(a|b)*".repeat(100).as_bytes()).is_ok());
    }

    #[test]
    fn programs_that_are_used_are_kept() {
        let used = CachedRegexp::new("^used$");
        let before = used.program().unwrap().regexp;
        for number in 0..2_000 {
            CachedRegexp::new(&format!("^unused-{number}$"))
                .program()
                .unwrap();
            assert_eq!(used.program().unwrap().compiled, 0);
        }
        assert!(Arc::ptr_eq(&before, &used.program().unwrap().regexp));
    }

    #[test]
    fn large_programs_and_long_matches_are_rejected() {
        assert!(CachedRegexp::new(r"\p{L}{1000}").program().is_err());
        let large = r"^\p{L}{63}$";
        assert_eq!(is_match(large, &"a".repeat(63)), Some(true));
        assert_eq!(is_match(large, &"a".repeat(1 << 20)), None);
        assert_eq!(
            is_match("^[0-9A-Za-z+/=]*$", &"a".repeat(1 << 20)),
            Some(true)
        );
    }
}
