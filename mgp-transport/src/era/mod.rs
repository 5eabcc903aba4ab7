//! The two eras of MCP: sessions until 2025-11-25, requests that describe themselves from 2026-07-28.

mod subscription;

pub use self::subscription::tag_subscription;
