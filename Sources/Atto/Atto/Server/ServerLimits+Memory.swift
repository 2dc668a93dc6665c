public import AttoGATT
import AttoLinks

extension ServerLimits {
  /// Octets that a client may need besides the longest PDU: 2.6 KB for its state, a full outbox (8192),
  /// its prepared writes (4096), the values that are kept for it
  /// (``ConnectionOptions/Backlog``), and what allocating them costs.
  static let octetsPerClient = 49_152
  /// Octets that are left to the rest of the process.
  static let octetsLeft = 2_097_152

  /// The default limits, with fewer clients if the limits of the process's memory (`ulimit -v` and
  /// `ulimit -d`) leave room for fewer: a process that cannot allocate memory aborts.
  ///
  /// - Parameter receiveMTU: the longest PDU that the server receives.
  public static func fittingMemory(receiveMTU: Int = 517) -> ServerLimits {
    fitting(ProcessMemory.left, receiveMTU: receiveMTU)
  }

  /// - Parameter left: octets; nil without a limit.
  static func fitting(_ left: Int?, receiveMTU: Int) -> ServerLimits {
    var limits = ServerLimits()
    guard let left else { return limits }
    let clients = max(0, left - octetsLeft) / (octetsPerClient + receiveMTU)
    limits.clients = min(limits.clients, max(1, clients))
    return limits
  }
}
