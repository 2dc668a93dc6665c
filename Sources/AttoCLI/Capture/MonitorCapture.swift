import Atto
import Files
import Glibc

/// `atto capture [hciN]`: the attribute PDUs of all links of the kernel's Bluetooth, whichever
/// program has them.
struct MonitorCapture {
  private let adapter: UInt16?
  /// Whose links are shown; nil: of all.
  private let peers: Set<BluetoothAddress>?
  private let isJSON: Bool
  private let file: CaptureFile?

  init(_ arguments: Arguments) throws {
    try arguments.allow(words: 1)
    adapter = try arguments.words.first.map { try AdaptersCommand.index($0) }
    peers = try arguments.addresses("peer")
    isJSON = arguments.has("json")
    file = try arguments.value("capture").map { try CaptureFile(path: $0, isOfMonitor: true) }
  }

  func run(on loop: Loop) async throws {
    if let adapter {
      let list = try await KernelAdapters(loop: loop).list()
      guard list.contains(where: { $0.index == adapter }) else {
        throw RadioError.noAdapter("hci\(adapter)")
      }
    }
    let view = LoopBound(MonitorView(adapter, peers, isJSON: isJSON, file), loop)
    let monitor: KernelMonitor
    do throws(RadioError) {
      monitor = try await KernelMonitor.open(
        loop: loop,
        onDropped: {
          Terminal.note(
            "\(Shown.count($0, "record")) were lost here: the kernel's buffer was full; what is"
              + " shown may lack PDUs")
        }, { view.value.take($0) })
    } catch {
      guard case .system(_, EPERM) = error else { throw error }
      let check = Diagnosis.closedMonitor
      throw MonitorClosed(
        description: check.text + (check.remedy.map { ". Mend: \($0)" } ?? ""))
    }
    file?.begin()
    Terminal.note("looking at \(adapter.map { "hci\($0)" } ?? "all adapters"), Ctrl-C ends it")
    // Ctrl-C ends the sleep, and that the command.
    try? await loop.sleep(for: .seconds(1_000_000_000))
    monitor.stop()
  }
}

/// The monitor is not for this process: exit status 3.
private struct MonitorClosed: Error, CustomStringConvertible {
  let description: String
}

/// What is shown and kept of the monitor's records. The loop's thread only.
private final class MonitorView {
  private let adapter: UInt16?
  private let shownPeers: Set<BluetoothAddress>?
  private let isJSON: Bool
  private let file: CaptureFile?
  private var decoder = CaptureDecoder()
  private var peers = MonitoredPeers()
  private var count = 0

  private struct Line: Encodable {
    let adapter: String
    let direction: String
    let handle: Int
    let pdu: String
    let peer: String?
    let text: String
    let time: Double
  }

  init(_ adapter: UInt16?, _ shownPeers: Set<BluetoothAddress>?, isJSON: Bool, _ file: CaptureFile?)
  {
    self.adapter = adapter
    self.shownPeers = shownPeers
    self.isJSON = isJSON
    self.file = file
  }

  func take(_ record: MonitorRecord) {
    // What belongs to no adapter is for each.
    guard adapter == nil || record.adapter == adapter || record.adapter == 0xFFFF else { return }
    file?.take(record)
    count += 1
    peers.take(record)
    let found = decoder.take(
      CaptureRecord(
        monitor: record.kind, adapter: record.adapter, octets: record.octets,
        isCut: record.missing > 0, number: count, time: record.time))
    guard let found else { return }
    show(found, record.time)
  }

  private func show(_ found: CapturedPDU, _ time: Int64) {
    let connection = found.connection
    let handle = UInt16(truncatingIfNeeded: connection.handle)
    let known = peers[connection.adapter, handle]
    if let shownPeers {
      guard let known, shownPeers.contains(known) else { return }
    }
    let seen = SeenPDU(
      time: time, isSent: found.isSent, octets: found.octets, mtu: found.mtu ?? .max)
    let name = "hci\(connection.adapter)"
    guard isJSON else {
      return Terminal.print(
        seen.text("\(name) \(known?.description ?? "\(AttributeHandle(handle))")"))
    }
    // An encoder of strings and numbers does not fail.
    try? Terminal.print(
      json: Line(
        adapter: name, direction: seen.direction, handle: Int(handle),
        pdu: Shown.hex(found.octets), peer: known?.description, text: seen.summary,
        time: seen.seconds))
  }
}
