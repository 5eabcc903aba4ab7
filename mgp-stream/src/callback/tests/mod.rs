mod bridge;
mod native;
mod owners;
