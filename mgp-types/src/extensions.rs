use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Values that layers of third parties attach to a request or response, one per type.
///
/// Our own layers use the named slots of [`Context`](crate::Context), which cost nothing. An empty
/// `Extensions` is one null pointer.
///
/// ```
/// use mgp_types::Extensions;
///
/// #[derive(Debug, PartialEq)]
/// struct Tenant(&'static str);
///
/// let mut extensions = Extensions::default();
/// extensions.insert(Tenant("blue"));
/// assert_eq!(extensions.get::<Tenant>(), Some(&Tenant("blue")));
/// ```
#[derive(Clone, Default)]
pub struct Extensions(Option<Box<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>);

impl Extensions {
    /// Attaches `value` in place of an earlier one of its type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.0.get_or_insert_default().insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// The value of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.as_ref()?.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// Takes the value of this type away.
    pub fn remove<T: Send + Sync + 'static>(&mut self) -> Option<Arc<T>> {
        self.0.as_mut()?.remove(&TypeId::of::<T>())?.downcast().ok()
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extensions({})", self.0.as_ref().map_or(0, |map| map.len()))
    }
}
