import EventLoop

/// An instance of the kernel's advertising that is ours. The loop's thread only.
///
/// # Theory
/// An instance belongs to the adapter and not to the socket that added it: one without a timeout
/// stays when its process dies. So it is added with a timeout, after which the kernel removes it,
/// and added again, which begins the timeout anew, for as long as the process lives. The gap that
/// this makes in the air is some milliseconds every ``refreshTime``.
///
/// A connection ends legacy advertising, which the kernel takes up only when the link has ended:
/// so the instance is added again then too, and further centrals can connect.
final class KernelAdvertisement {
  /// Well within ``KernelAdapter/advertisementLifetime``, so that one failure does no harm.
  static let refreshTime: Duration = .seconds(5)

  let instance: UInt8
  var parameters: AdvertisingParameters
  var octets: LegacyAdvertisement
  /// The connections that it brought.
  let queue: AdvertisedLinks
  var refresh: OneTimer?
  /// Whether the instance is in the air, as far as we know.
  var isOnAir = true

  init(_ instance: UInt8, _ parameters: AdvertisingParameters, _ octets: LegacyAdvertisement) {
    self.instance = instance
    self.parameters = parameters
    self.octets = octets
    queue = AdvertisedLinks(parameters)
  }
}

/// How an instance is written in the commands that add it.
struct InstanceOctets {
  /// MGMT_ADV_FLAG_CONNECTABLE
  static let connectable: UInt32 = 1 << 0
  /// MGMT_ADV_PARAM_TIMEOUT
  static let hasTimeout: UInt32 = 1 << 13
  /// MGMT_ADV_PARAM_INTERVALS
  static let hasIntervals: UInt32 = 1 << 14

  let instance: UInt8
  let isConnectable: Bool
  let interval: Duration
  let octets: LegacyAdvertisement

  private var flags: UInt32 { isConnectable ? Self.connectable : 0 }
  private var lifetime: Int64 { KernelAdapter.advertisementLifetime.components.seconds }

  /// MGMT_OP_ADD_ADVERTISING, which leaves the interval to the kernel.
  var whole: [UInt8] {
    [instance] + flags.octets(4) + UInt16(0).octets(2) + lifetime.octets(2) + lengths + data
  }

  /// MGMT_OP_ADD_EXT_ADV_PARAMS.
  var parameters: [UInt8] {
    // Units of 0.625 ms; the controller may choose within 10 %.
    let shortest = UInt32(interval / .microseconds(625))
    let longest = min(shortest + shortest / 10, 0x4000)
    let noPower: UInt8 = 0x7F
    return [instance] + (flags | Self.hasTimeout | Self.hasIntervals).octets(4)
      + UInt16(0).octets(2) + lifetime.octets(2) + shortest.octets(4) + longest.octets(4)
      + [noPower]
  }

  /// MGMT_OP_ADD_EXT_ADV_DATA.
  var extendedData: [UInt8] { [instance] + lengths + data }

  private var lengths: [UInt8] {
    [UInt8(octets.advertisement.count), UInt8(octets.scanResponse.count)]
  }

  private var data: [UInt8] { octets.advertisement + octets.scanResponse }
}

/// What MGMT_OP_READ_ADV_FEATURES answers.
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

  /// A number that nobody uses; nil if there is none.
  func free(except taken: Set<UInt8>) -> UInt8? {
    guard instanceLimit > 0 else { return nil }
    return (1...instanceLimit).first { !instances.contains($0) && !taken.contains($0) }
  }
}
