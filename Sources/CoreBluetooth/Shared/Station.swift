internal import Atto
import Foundation

/// A radio of this process with all that goes over it: one for each ``CBRadio``, shared by the
/// managers that use it, for as long as there is one.
///
/// It holds the links to peripherals (``PeerLink``), which managers share as apps share a phone's,
/// and the GATT server that all peripheral managers publish in. A central's link serves it too: a
/// bearer has both roles.
@RadioLoop final class Station {
  private static var stations: [CBRadio: WeakReference<Station>] = [:]

  static func of(_ choice: CBRadio) -> Station {
    if let station = stations[choice]?.object { return station }
    stations = stations.filter { $0.value.object != nil }
    let station = Station(choice)
    stations[choice] = WeakReference(station)
    return station
  }

  /// Whether the kernel knows a Bluetooth adapter.
  nonisolated static var kernelHasAdapters: Bool {
    let names = try? FileManager.default.contentsOfDirectory(atPath: "/sys/class/bluetooth")
    return names?.contains { $0.hasPrefix("hci") } ?? false
  }

  let choice: CBRadio
  let server = LocalServer(loop: RadioLoop.loop)
  private(set) var state: CBManagerState = .unknown
  private(set) var adapter: (any Adapter)?
  /// Our own address.
  private(set) var address = BluetoothAddress(0)
  private var observers: [ObjectIdentifier: WeakReference<StationObserverBox>] = [:]
  private var links: [BluetoothAddress: WeakReference<PeerLink>] = [:]
  private var opening: Task<Void, Never>?
  private var hosting: Hosting?

  private init(_ choice: CBRadio) { self.choice = choice }

  deinit { opening?.cancel() }

  /// Calls `box` with the state as soon as it is known, and whenever it changes.
  func observe(_ box: StationObserverBox) {
    observers[ObjectIdentifier(box)] = WeakReference(box)
    if state != .unknown { box.changed(state) }
    guard opening == nil else { return }
    opening = Task { @RadioLoop [weak self, choice] in
      let opened = await StationOpening.open(choice)
      guard let self, !Task.isCancelled else { return }
      await begin(opened)
    }
  }

  private func begin(_ opened: StationOpening.Result) async {
    switch opened {
    case .unusable(let state, let why):
      Misuse.log(why)
      set(state)
    case .air(let adapter):
      self.adapter = adapter
      address = adapter.address
      await addBaseServices(name: adapter.name)
      set(.poweredOn)
    case .kernel(let adapter):
      self.adapter = adapter
      address = await adapter.address
      await addBaseServices(name: await adapter.information.name)
      let states = await adapter.states()
      Task { @RadioLoop [weak self] in
        for await state in states {
          switch state {
          case .poweredOn: self?.set(.poweredOn)
          case .poweredOff: self?.set(.poweredOff)
          case .gone: self?.set(.unsupported)
          }
        }
      }
    }
  }

  /// The Generic Access and Generic Attribute services, which every server has.
  private func addBaseServices(name: String) async {
    let shown = name.isEmpty ? ProcessInfo.processInfo.processName : name
    let access = ServiceDefinition(
      0x1800,
      characteristics: [
        CharacteristicDefinition(
          0x2A00, properties: .read, value: .constant(Array(shown.utf8.prefix(248)))),
        CharacteristicDefinition(0x2A01, properties: .read, value: .constant([0, 0])),
      ])
    let attribute = ServiceDefinition(
      0x1801,
      characteristics: [
        CharacteristicDefinition(
          0x2A05, properties: .indicate, value: .constant([0x01, 0x00, 0xFF, 0xFF])),
        CharacteristicDefinition(
          0x2B29, properties: [.read, .write], value: .clientSupportedFeatures),
        CharacteristicDefinition(0x2B2A, properties: .read, value: .databaseHash),
      ])
    for service in [access, attribute] {
      do {
        try await server.add(service)
      } catch {
        Misuse.log("the service \(service.uuid) could not be added: \(error)")
      }
    }
  }

  /// Also for tests, which have no switch to press.
  func set(_ new: CBManagerState) {
    guard new != state else { return }
    state = new
    for observer in observers.values { observer.object?.changed(new) }
    guard new != .poweredOn else { return }
    for link in links.values { link.object?.end(.disconnected(peer: "the radio")) }
    server.disconnect()
  }

  /// The link to a peer, there or to be made.
  func link(to peer: BluetoothAddress) -> PeerLink {
    if let link = links[peer]?.object { return link }
    links = links.filter { $0.value.object != nil }
    let link = PeerLink(peer, on: self)
    links[peer] = WeakReference(link)
    return link
  }

  /// The peers that are connected now, by whatever manager of this process.
  var connected: [PeerLink] { links.values.compactMap(\.object).filter { $0.connection != nil } }

  func identifier(of peer: BluetoothAddress) -> UUID {
    PeerIdentifier.make(peer: peer, adapter: address)
  }

  /// What takes the connections of centrals and asks the managers that publish.
  var host: Hosting {
    if let hosting { return hosting }
    let made = Hosting(self)
    hosting = made
    return made
  }

  /// Tells managers that have asked for them of connections and disconnections.
  func tellConnectionEvent(_ event: CBConnectionEvent, _ peer: BluetoothAddress) {
    for observer in observers.values { observer.object?.connectionEvent(event, peer) }
  }
}

/// One who is told of a station's state; held by the one who is interested.
@RadioLoop final class StationObserverBox {
  let changed: (CBManagerState) -> Void
  let connectionEvent: (CBConnectionEvent, BluetoothAddress) -> Void

  init(
    changed: @escaping (CBManagerState) -> Void,
    connectionEvent: @escaping (CBConnectionEvent, BluetoothAddress) -> Void = { _, _ in }
  ) {
    self.changed = changed
    self.connectionEvent = connectionEvent
  }
}
