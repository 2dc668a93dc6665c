import Atto
import AttoATT
import AttoEventLoop
import AttoLinks
import AttoStore

/// One device, which its users share.
///
/// # Theory
/// The link is wanted while the device is configured to be held, or has a user. Then one task, ``hold()``,
/// goes round: it waits for its turn (``Hub/turn(of:)``), connects, tells the users, and waits for the end
/// of the link. When the link is no longer wanted the task is cancelled, which ends what it waits for
/// and closes the link.
///
/// Users share the link. `Connection` alternates their requests. Their subscriptions are
/// ``SharedSubscriptions``, and each user sees its own part of them.
///
/// Runs on the hub's loop.
package actor Device {
  /// Requests of one user that are under way.
  package static let requestLimit = 64
  /// Events that wait for one user. Beyond it that user loses the oldest.
  package static let eventLimit = 4096
  /// Events that wait for one user that is not to lose any, before the device is held back.
  static let holdLimit = 1024

  /// The loop of the hub.
  package nonisolated let loop: Loop
  /// The name in the configuration; nil for a device that only an address names.
  package nonisolated let name: String?
  let hub: Hub

  /// The configuration now; nil for a device that is not configured.
  package internal(set) var configuration: DeviceConfiguration?
  /// The address; nil until a device that is configured without one was heard.
  package internal(set) var address: BluetoothAddress?
  /// What there is between the gateway and the device now.
  package internal(set) var state = LinkState.idle
  /// Signal strength when the device was heard last, in dBm; nil if it was not heard.
  package internal(set) var rssi: Int8?
  /// The last advertisement; nil if the device was not heard. Its time is set again when the device leaves the air
  /// and when its link ends.
  package internal(set) var lastHeard: Heard?
  /// The adapter of the link.
  package internal(set) var adapter: String?
  /// Why the last attempt failed or the last link ended; nil since the last success.
  package internal(set) var lastError: AttoError?
  var counted = DeviceCounters()

  var connection: Connection?
  /// When the present link, or the last one, was made.
  var linkedSince: Int64 = 0
  /// Whether nothing is read from the link because a user is slow.
  var isHeldBack = false
  var holding: Task<Void, Never>?
  /// Attempts that failed since the last link.
  var failures = 0
  var users: [UInt64: DeviceUser] = [:]
  var lastUser: UInt64 = 0
  nonisolated let subscriptions: SharedSubscriptions<UInt64>
  /// The handle of the value Service Changed.
  var serviceChanged: AttributeHandle?
  /// Reads under way, as long as the device has not sent the value.
  var refreshes: Set<Refresh> = []
  /// The discovery of the present link, for all that ask for its result.
  var discovery: Task<Result<RemoteDatabase, GatewayError>, Never>?
  /// The result of the discovery.
  var known: RemoteDatabase?
  let linkWaiters = WaiterList<UInt64, Int, GatewayError>()

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  init(_ hub: Hub, configured: DeviceConfiguration) {
    self.hub = hub
    loop = hub.loop
    subscriptions = SharedSubscriptions(on: hub.loop)
    name = configured.name
    configuration = configured
    address = configured.match.address
  }

  init(_ hub: Hub, at address: BluetoothAddress) {
    self.hub = hub
    loop = hub.loop
    subscriptions = SharedSubscriptions(on: hub.loop)
    name = nil
    self.address = address
  }

  /// The name, or else the address, for messages.
  package var label: String { name ?? address?.digits ?? "?" }

  /// What was counted, including what users have lost.
  package var counters: DeviceCounters {
    var counters = counted
    for user in users.values { counters.dropped += UInt64(user.events.dropped) }
    return counters
  }

  /// The users now that want a link, in the order in which they came.
  package var userNames: [String] {
    users.filter { !$0.value.isPassive }.sorted { $0.key < $1.key }.map(\.value.name)
  }

  /// Begins to use the device. A link is made as soon as possible, and again when it is lost, until the
  /// result is released.
  ///
  /// - Parameters:
  ///   - user: a name for the status, for instance `mqtt`.
  ///   - isPassive: whether the user makes do with links that others want.
  ///   - holdsBack: whether the device is to be held back, as far as its link can, when ``holdLimit`` events
  ///     wait for the user.
  package func use(
    as user: String, isPassive: Bool = false, holdsBack: Bool = false
  ) -> DeviceUse {
    lastUser += 1
    let id = lastUser
    let queue = BatchQueue<DeviceEvent>(limit: Self.eventLimit)
    if holdsBack {
      queue.whenReceived = { [weak self] in
        guard let self else { return }
        self.here { $0.letGoOn() }
      }
    }
    users[id] = DeviceUser(name: user, events: queue, isPassive: isPassive, holdsBack: holdsBack)
    if case .connected(let mtu) = state { queue.add(.connected(mtu: mtu)) }
    wantChanged()
    return DeviceUse(self, id: id, Batches(queue, on: loop))
  }

  func release(_ id: UInt64) {
    guard let user = users.removeValue(forKey: id) else { return }
    counted.dropped += UInt64(user.events.dropped)
    user.events.end()
    linkWaiters.resume(.failure(.released)) { $0 == id }
    subscriptions.here { _ = $0.leave(id) }
    wantChanged()
    hub.here { $0.used(self) }
  }

  /// Whether a link should exist.
  var isWanted: Bool {
    // The gateways of a fleet agree which one holds a device, and that one uses it.
    let isHeld = (configuration?.isHeld ?? false) && hub.here { $0.configuration.fleet == nil }
    return !isOver && (users.values.contains { !$0.isPassive } || isHeld)
  }
  /// Whether the hub has dropped the device.
  var isOver = false

  /// Starts or ends the holding of the link.
  func wantChanged() {
    if isWanted, holding == nil {
      holding = Task(executorPreference: loop.tasks) { await self.hold() }
    } else if !isWanted, let holding {
      holding.cancel()
    }
  }

  /// Ends all uses and the link.
  func end() {
    isOver = true
    for id in users.keys { release(id) }
    wantChanged()
  }

  func setPassive(_ isPassive: Bool, for id: UInt64) {
    guard users[id] != nil else { return }
    users[id]?.isPassive = isPassive
    wantChanged()
  }

  func tell(_ event: DeviceEvent) {
    for user in users.values { user.events.add(event) }
  }
}

/// One user of a device. The loop's thread only.
struct DeviceUser {
  let name: String
  let events: BatchQueue<DeviceEvent>
  /// Whether a link that only this user has is not wanted.
  var isPassive: Bool
  let holdsBack: Bool
  /// Requests under way.
  var requests = 0
}
