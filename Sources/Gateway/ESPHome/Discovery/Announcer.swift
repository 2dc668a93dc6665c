import AttoEventLoop
import AttoGateway
import AttoLinks
import AttoStreams
import Glibc

/// Announces a server on the networks of this machine by multicast DNS, so that Home Assistant finds it.
///
/// # Theory
/// Each interface has a ``Responder`` for IPv4 and one for IPv6, each with a socket of its own: a message
/// names the addresses of its interface only. When the kernel reports a change, the addresses are read again after
/// ``settlingTime``. Responders whose addresses are unchanged go on.
///
/// If another host has the name, all responders begin again under the name with the last digits of the gateway's
/// address. If another host has that name, too, the announcements end.
///
/// The loop's thread only.
final class Announcer {
  /// How long changes of interfaces are collected.
  static let settlingTime: Duration = .milliseconds(500)
  /// Interfaces, and addresses of one interface, that are announced.
  static let interfaceLimit = 32
  static let addressLimit = 8
  static let groups: [InternetFamily: [UInt8]] = [
    .ipv4: [224, 0, 0, 251], .ipv6: [0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFB],
  ]

  private struct Place: Hashable {
    var interface: UInt32
    var family: InternetFamily
  }

  private struct Network {
    var responder: Responder
    let socket: MulticastSocket
    var timer: LoopTimer?
  }

  private var service: AnnouncedService
  private let digits: String
  private let host: String
  private let loop: Loop
  private let log: (LogLevel, String) -> Void
  private var networks: [Place: Network] = [:]
  private var addresses: [InterfaceAddress] = []
  private var changes: NetworkChanges?
  private var settling: LoopTimer?
  private var isRenamed = false
  /// What was logged last.
  private var notice = ""

  /// - Parameters:
  ///   - digits: the gateway's address, for another name.
  ///   - host: the address at which the server listens.
  init(
    _ service: AnnouncedService, digits: String, listening host: String, on loop: Loop,
    log: @escaping (LogLevel, String) -> Void
  ) {
    (self.service, self.digits, self.host) = (service, digits, host)
    (self.loop, self.log) = (loop, log)
  }

  func start() {
    if Avahi.isRunning {
      return log(
        .notice,
        "not announced by mDNS, because Avahi answers on this machine\n"
          + "hint: save these lines as /etc/avahi/services/atto-gateway.service\n"
          + Avahi.file(of: service))
    }
    do {
      changes = try NetworkChanges(on: loop) { [weak self] in self?.changed() }
    } catch {
      log(.warning, "mDNS does not follow changes of the network: \(error)")
    }
    refresh()
  }

  /// Says goodbye.
  func stop() {
    settling?.cancel()
    settling = nil
    changes?.close()
    changes = nil
    for place in networks.keys { end(place) }
  }

  private func changed() {
    guard settling == nil else { return }
    settling = LoopTimer(after: Self.settlingTime, on: loop) { [weak self] in
      self?.settling = nil
      self?.refresh()
    }
  }

  // MARK: Networks

  private func refresh() {
    let found: [InterfaceAddress]
    do throws(LinkError) {
      found = try InterfaceAddress.all()
    } catch {
      return log(.warning, "not announced by mDNS: \(error)")
    }
    addresses = found
    let announced = Self.announced(found, listening: host)
    for place in networks.keys where announced[place.interface] == nil { end(place) }
    for (interface, addresses) in announced.sorted(by: { $0.key < $1.key }) {
      var service = service
      service.addresses = addresses
      for family in Set(addresses.map(\.count)).map({ $0 == 4 ? InternetFamily.ipv4 : .ipv6 }) {
        let place = Place(interface: interface, family: family)
        let old = networks[place]
        if old?.responder.service == service { continue }
        do {
          let socket = try old?.socket ?? open(place)
          let responder = Responder(
            service, probes: !(old?.responder.isAnnounced ?? false), now: loop.now)
          old?.timer?.cancel()
          networks[place] = Network(responder: responder, socket: socket)
          schedule(place)
        } catch let error as LinkError where error.errno == EADDRINUSE {
          stop()
          return log(
            .warning, "not announced by mDNS: another program has UDP port 5353 for itself")
        } catch {
          tell(.info, "mDNS does not work on interface \(Self.name(interface)): \(error)")
        }
      }
    }
    let names = Set(networks.keys.map { Self.name($0.interface) }).sorted()
    tell(
      .info,
      names.isEmpty
        ? "not announced by mDNS, because no network is up"
        : "announced by mDNS as \(service.name).local on \(names.joined(separator: ", "))")
  }

  /// Logs what has changed.
  private func tell(_ level: LogLevel, _ text: String) {
    if text != notice { log(level, text) }
    notice = text
  }

  private func open(_ place: Place) throws -> MulticastSocket {
    try MulticastSocket(
      place.family, group: Self.groups[place.family] ?? [], port: Responder.port,
      interface: place.interface, on: loop
    ) { [weak self] in self?.received($0, from: $1, at: place) }
  }

  private func end(_ place: Place) {
    guard var network = networks.removeValue(forKey: place) else { return }
    network.timer?.cancel()
    if let octets = network.responder.goodbye() { network.socket.send(octets) }
    network.socket.close()
  }

  /// The addresses at which clients reach the server, by the interface.
  static func announced(
    _ addresses: [InterfaceAddress], listening host: String
  ) -> [UInt32: [[UInt8]]] {
    var found: [UInt32: [[UInt8]]] = [:]
    var (ipv4, ipv6) = (in_addr(), in6_addr())
    let own: [UInt8]? =
      inet_pton(AF_INET, host, &ipv4) == 1
      ? withUnsafeBytes(of: ipv4) { Array($0) }
      : inet_pton(AF_INET6, host, &ipv6) == 1 ? withUnsafeBytes(of: ipv6) { Array($0) } : nil
    guard let own else { return [:] }
    let isEvery = own.allSatisfy { $0 == 0 }
    for address in addresses {
      let isReached =
        isEvery
        ? !address.isLoopback && address.isMulticast
          && (own.count == 16 || address.family == .ipv4)
        : address.octets == own
      guard isReached, found[address.interface] != nil || found.count < interfaceLimit,
        found[address.interface, default: []].count < addressLimit
      else { continue }
      found[address.interface, default: []].append(address.octets)
    }
    return found
  }

  private static func name(_ interface: UInt32) -> String {
    var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
    guard if_indextoname(interface, &name) != nil else { return "\(interface)" }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  // MARK: Messages

  private func received(_ octets: [UInt8], from sender: MulticastSocket.Sender, at place: Place) {
    guard let message = try? DNSMessage(octets) else { return }
    let isOwn = addresses.contains { $0.octets == sender.octets }
    carryOut(at: place) { $0.receive(message, from: sender, isOwn: isOwn, now: loop.now) }
  }

  private func schedule(_ place: Place) {
    networks[place]?.timer?.cancel()
    guard let time = networks[place]?.responder.nextTime else { return }
    networks[place]?.timer = LoopTimer(after: .nanoseconds(time - loop.now), on: loop) {
      [weak self] in
      guard let self else { return }
      carryOut(at: place) { $0.advance(to: self.loop.now) }
    }
  }

  private func carryOut(at place: Place, _ body: (inout Responder) -> [Responder.Output]) {
    guard var network = networks[place] else { return }
    let outputs = body(&network.responder)
    networks[place] = network
    let socket = network.socket
    for output in outputs {
      switch output {
      case .multicast(let octets): socket.send(octets)
      case .unicast(let octets, let receiver): socket.send(octets, to: receiver)
      case .contradiction: return rename()
      }
    }
    schedule(place)
  }

  private func rename() {
    for place in networks.keys { end(place) }
    guard !isRenamed else {
      stop()
      return log(
        .warning,
        "not announced by mDNS: other hosts have the names of this gateway\nhint: change \"name\"")
    }
    isRenamed = true
    let old = service.name
    service.name = "\(old.prefix(DNSName.labelLimit - 7))-\(digits.suffix(6))"
    log(
      .notice, "announced by mDNS as \(service.name): another host in the network is \(old).local")
    changed()
  }
}
