use std::fmt;
use std::sync::Arc;

/// Who a request comes from, as far as it has been proved.
///
/// Sessions, sealed state and cached answers are bound to it: what one principal was given, another
/// cannot use. An agent's name is its id in access control and audit.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    name: Arc<str>,
    role: Role,
}

/// What a principal is here for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// It calls tools.
    Agent,
    /// It decides what agents may do: a human, or a program in a human's name.
    Operator,
}

impl Principal {
    /// The agent with this stable, unique name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), role: Role::Agent }
    }

    /// The operator with this stable, unique name.
    pub fn operator(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), role: Role::Operator }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// What it is here for.
    pub fn role(&self) -> Role {
        self.role
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}
