//! Cost of reading a storage: the numbers for planning reads.

/// Time until a read begins to deliver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Latency {
    /// None: the bytes are in memory.
    Memory,
    /// Microseconds to milliseconds: a local device.
    #[default]
    Device,
    /// Tens of milliseconds: a server.
    Network,
}

/// The cost of reading a storage.
///
/// ```
/// use tachyfits_io::Profile;
///
/// // A server at the other end of a slow line.
/// let profile = Profile { gap_bytes: 1 << 20, ..Profile::NETWORK };
/// assert_eq!(profile.in_flight, 16);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Time until a read begins to deliver.
    pub latency: Latency,
    /// Largest gap between requested bytes that is read rather than skipped.
    pub gap_bytes: u64,
    /// Size of the requests into which longer reads are split.
    pub request_bytes: u64,
    /// Useful number of concurrent requests.
    pub in_flight: usize,
    /// Recommended alignment of offsets, lengths and memory addresses; a power of two.
    pub alignment: usize,
}

impl Profile {
    /// A local file. A separate read costs a device more than transferring 32 KiB (a disk seek far more), and a page
    /// cache slightly less. One reader waits for the device while another one delivers.
    pub const DEVICE: Profile = Profile {
        latency: Latency::Device,
        gap_bytes: 32 << 10,
        request_bytes: u64::MAX,
        in_flight: 2,
        alignment: 1,
    };

    /// Bytes in memory.
    pub const MEMORY: Profile = Profile { latency: Latency::Memory, ..Profile::DEVICE };

    /// A server such as an object store: 30 ms to the first byte, then 90 MB/s for each of 16 requests. Requests have a
    /// time limit, so long reads are split.
    pub const NETWORK: Profile = Profile {
        latency: Latency::Network,
        gap_bytes: 160 << 10,
        request_bytes: 8 << 20,
        in_flight: 16,
        alignment: 1,
    };

    /// Returns the profile of two storages that are read as one.
    pub fn and(self, other: Profile) -> Profile {
        Profile {
            latency: self.latency.max(other.latency),
            gap_bytes: self.gap_bytes.max(other.gap_bytes),
            request_bytes: self.request_bytes.min(other.request_bytes),
            in_flight: self.in_flight.max(other.in_flight),
            alignment: self.alignment.max(other.alignment),
        }
    }
}

/// The default is the profile of a local file.
impl Default for Profile {
    fn default() -> Profile {
        Profile::DEVICE
    }
}
