import AttoEventLoop
import AttoRadio

/// An advertising instance of the kernel that this process has added. The loop's thread only.
///
/// # Theory
/// An instance belongs to the adapter and not to the socket that added it. Without a timeout it
/// would outlive its process. So it is added with a timeout of ``lifetime``, and added again every
/// ``refreshTime``, which restarts the timeout. Advertising stops for some milliseconds meanwhile.
///
/// A connection ends legacy advertising, and the kernel resumes it only when the link has ended. So
/// the instance is added again then too, and further centrals can connect.
struct KernelAdvertisement {
  /// How long an advertisement outlives a process that dies.
  static let lifetime: Duration = .seconds(12)
  /// Less than half of ``lifetime``, so that one failure does no harm.
  static let refreshTime: Duration = .seconds(5)
  /// MGMT_ADV_FLAG_CONNECTABLE
  private static let connectable: UInt32 = 1 << 0
  /// MGMT_ADV_PARAM_TIMEOUT
  private static let hasTimeout: UInt32 = 1 << 13
  /// MGMT_ADV_PARAM_INTERVALS
  private static let hasIntervals: UInt32 = 1 << 14

  let instance: UInt8
  var parameters: AdvertisingParameters
  var octets: LegacyAdvertisement
  var refresh: LoopTimer?

  private var flags: UInt32 { parameters.isConnectable ? Self.connectable : 0 }
  private var lifetime: Int64 { Self.lifetime.components.seconds }

  /// The parameters of MGMT_OP_ADD_ADVERTISING. The kernel chooses the interval.
  var whole: [UInt8] {
    [instance] + flags.octets(4) + UInt16(0).octets(2) + lifetime.octets(2) + lengths + data
  }

  /// The parameters of MGMT_OP_ADD_EXT_ADV_PARAMS.
  var extendedParameters: [UInt8] {
    // Units of 0.625 ms; the controller may choose within 10 %.
    let shortest = UInt32(parameters.interval / .microseconds(625))
    let longest = min(shortest + shortest / 10, 0x4000)
    let noPower: UInt8 = 0x7F
    return [instance] + (flags | Self.hasTimeout | Self.hasIntervals).octets(4)
      + UInt16(0).octets(2) + lifetime.octets(2) + shortest.octets(4) + longest.octets(4)
      + [noPower]
  }

  /// The parameters of MGMT_OP_ADD_EXT_ADV_DATA.
  var extendedData: [UInt8] { [instance] + lengths + data }

  private var lengths: [UInt8] {
    [UInt8(octets.advertisement.count), UInt8(octets.scanResponse.count)]
  }

  private var data: [UInt8] { octets.advertisement + octets.scanResponse }
}

/// The answer to MGMT_OP_READ_ADV_FEATURES.
struct AdvertisingFeatures: Hashable {
  var instanceLimit: UInt8
  var instances: [UInt8]

  /// nil if it is too short.
  init?(_ parameters: [UInt8]) {
    var reader = ManagementReader(parameters)
    _ = reader.octets(6)
    instanceLimit = reader.integer()
    let count: UInt8 = reader.integer()
    instances = reader.octets(Int(count))
    if reader.isShort { return nil }
  }

  /// An instance that is not in use; nil if there is none.
  func free(except used: Set<UInt8>) -> UInt8? {
    guard instanceLimit > 0 else { return nil }
    return (1...instanceLimit).first { !instances.contains($0) && !used.contains($0) }
  }
}
