use anyhow::Result;
use weir_testkit::free_port;

/// Ports of a program; they stay the same over a restart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    pub(crate) storage: u16,
    pub(crate) events: u16,
    pub(crate) receiver: u16,
    pub(crate) grpc: u16,
    pub(crate) metrics: u16,
    pub(crate) health: u16,
}

impl Ports {
    pub(crate) fn free() -> Result<Self> {
        Ok(Self {
            storage: free_port()?,
            events: free_port()?,
            receiver: free_port()?,
            grpc: free_port()?,
            metrics: free_port()?,
            health: free_port()?,
        })
    }

    pub(crate) fn grpc_address(self) -> String {
        format!("127.0.0.1:{}", self.grpc)
    }
}
