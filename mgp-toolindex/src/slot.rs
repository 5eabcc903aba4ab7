/// The number of a tool in the index. It is given away again once its tool is gone, so it means something only
/// together with one snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}
