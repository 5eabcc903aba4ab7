//! What all servers offer, as one list.
use std::sync::Arc;
use mgp_types::RawJson;
use mgp_types::mgp::ResolvedTool;
#[derive(Debug, Clone, Default)]
pub struct Catalog;
impl Catalog { pub fn new() -> Self { Self } pub fn snapshot(&self) -> Arc<CatalogSnapshot> { Arc::default() } }
#[derive(Debug, Default)]
pub struct CatalogSnapshot(Vec<Arc<CatalogTool>>);
#[derive(Debug)]
pub struct CatalogTool { pub shown: Arc<str>, pub definition: RawJson, pub resolved: Arc<ResolvedTool> }
impl CatalogSnapshot {
 pub fn called(&self, _: &str) -> Option<&Arc<CatalogTool>> { None }
 pub fn tools(&self) -> impl Iterator<Item=&Arc<CatalogTool>> { self.0.iter() }
 pub fn near(&self, _: &str) -> Vec<&str> { Vec::new() }
}
