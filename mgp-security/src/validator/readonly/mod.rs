//! What only reads: annotations, verbs, SQL and HTTP methods.
#![allow(missing_docs)]
pub fn check_sql(_: &str) -> Result<(), crate::Finding> {
    Ok(())
}
pub fn check_http_method(_: &str) -> Result<(), crate::Finding> {
    Ok(())
}
pub fn check_tool_name(_: &str, _: Option<&mgp_types::mcp::ToolAnnotations>) -> Result<(), crate::Finding> {
    Ok(())
}
