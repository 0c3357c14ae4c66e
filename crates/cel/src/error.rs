//! Why an evaluation has no result.

use std::borrow::Cow;

/// Why an evaluation has no result. The messages are those of cel-go and Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("no such overload")]
    NoSuchOverload,
    #[error("no such key: {0}")]
    NoSuchKey(String),
    #[error("index out of bounds: {0}")]
    IndexOutOfBounds(String),
    #[error("no such attribute(s): {0}")]
    NoSuchAttribute(String),
    #[error("integer overflow")]
    IntOverflow,
    #[error("unsigned integer overflow")]
    UintOverflow,
    #[error("timestamp overflow")]
    TimestampOverflow,
    #[error("division by zero")]
    DivisionByZero,
    #[error("modulus by zero")]
    ModulusByZero,
    #[error("type conversion error from '{from}' to '{to}'")]
    Conversion { from: String, to: &'static str },
    /// An error of one function.
    #[error("{0}")]
    Function(Cow<'static, str>),
    /// The cost limit of the evaluation is exceeded.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostLimitExceeded,
    /// The evaluation copies or compares more data than any sensible expression.
    #[error("operation cancelled: actual cost limit exceeded: values are too large")]
    TooLarge,
    /// The caller cancelled the evaluation.
    #[error("operation interrupted")]
    Interrupted,
}

impl Error {
    pub(crate) fn function(message: impl Into<Cow<'static, str>>) -> Self {
        Self::Function(message.into())
    }

    /// Whether the evaluation ends at once, even inside of `||` and `&&`, which ignore other errors.
    pub fn is_cancellation(&self) -> bool {
        matches!(
            self,
            Self::CostLimitExceeded | Self::TooLarge | Self::Interrupted
        )
    }
}
