//! Typed values that layers of third parties attach to requests and responses.

use std::any::{Any, TypeId};
use std::sync::Arc;

use smallvec::SmallVec;

/// The values that layers of third parties attach to a request or response, one for each type.
///
/// MGP's own layers use the named slots of [`Context`](crate::Context), which cost nothing. Each value costs one
/// allocation, and the first one costs another. Clones share the values until one clone is changed.
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
pub struct Extensions(Option<Arc<Values>>);

type Values = SmallVec<[(TypeId, Arc<dyn Any + Send + Sync>); 3]>;

impl Extensions {
    /// Attaches `value` in place of an earlier value of its type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.insert_shared(Arc::new(value));
    }

    /// Attaches a shared value in place of an earlier value of its type.
    pub fn insert_shared<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        let values = Arc::make_mut(self.0.get_or_insert_default());
        match values.iter_mut().find(|(id, _)| *id == TypeId::of::<T>()) {
            Some((_, earlier)) => *earlier = value,
            None => values.push((TypeId::of::<T>(), value)),
        }
    }

    /// Returns the value of the type `T`.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.values().iter().find(|(id, _)| *id == TypeId::of::<T>())?.1.downcast_ref()
    }

    /// Returns the value of the type `T` as a shared one.
    pub fn get_shared<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let (_, value) = self.values().iter().find(|(id, _)| *id == TypeId::of::<T>())?;
        Arc::clone(value).downcast().ok()
    }

    /// Removes the value of the type `T` and returns it.
    pub fn remove<T: Send + Sync + 'static>(&mut self) -> Option<Arc<T>> {
        let place = self.values().iter().position(|(id, _)| *id == TypeId::of::<T>())?;
        Arc::make_mut(self.0.as_mut()?).swap_remove(place).1.downcast().ok()
    }

    fn values(&self) -> &[(TypeId, Arc<dyn Any + Send + Sync>)] {
        self.0.as_deref().map_or(&[], SmallVec::as_slice)
    }
}

crate::partial_debug!(Extensions, self => count: self.values().len());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_keeps_its_values_when_the_other_is_changed() {
        let mut extensions = Extensions::default();
        extensions.insert(1_u8);
        extensions.insert('a');
        let before = extensions.clone();
        extensions.insert(2_u8);
        assert_eq!(extensions.remove::<char>().as_deref(), Some(&'a'));
        assert_eq!((extensions.get(), extensions.get::<char>()), (Some(&2_u8), None));
        assert_eq!((before.get(), before.get()), (Some(&1_u8), Some(&'a')));
    }
}
