use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

/// Values that layers of third parties attach to a request or response, one per type.
///
/// Our own layers use the named slots of [`Context`](crate::Context), which cost nothing. The first
/// value costs one allocation, an empty `Extensions` none.
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
pub struct Extensions(SmallVec<[(TypeId, Arc<dyn Any + Send + Sync>); 1]>);

impl Extensions {
    /// Attaches `value` in place of an earlier one of its type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.insert_shared(Arc::new(value));
    }

    /// Attaches a value that others share, in place of an earlier one of its type.
    pub fn insert_shared<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.remove::<T>();
        self.0.push((TypeId::of::<T>(), value));
    }

    /// The value of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.iter().find(|(id, _)| *id == TypeId::of::<T>())?.1.downcast_ref()
    }

    /// The value of this type, shared with whoever has it.
    pub fn get_shared<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let (_, value) = self.0.iter().find(|(id, _)| *id == TypeId::of::<T>())?;
        Arc::clone(value).downcast().ok()
    }

    /// Takes the value of this type away.
    pub fn remove<T: Send + Sync + 'static>(&mut self) -> Option<Arc<T>> {
        let place = self.0.iter().position(|(id, _)| *id == TypeId::of::<T>())?;
        self.0.swap_remove(place).1.downcast().ok()
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extensions({})", self.0.len())
    }
}
