import Atto
import AttoCommandLine
import AttoDiagnosis
import AttoFormats
import AttoPeers
import Glibc

/// `atto capture [hciN]`: the attribute PDUs of all links of the kernel's Bluetooth.
struct MonitorCapture {
  fileprivate let adapter: UInt16?
  /// The devices to show; nil for all.
  fileprivate let peers: Set<BluetoothAddress>?
  /// nil for Wireshark, which shows the file, and takes text on standard error for a failure.
  fileprivate let results: Results?
  fileprivate let file: CaptureFile?

  init(_ arguments: Arguments) throws {
    adapter = try arguments.words.first.map { try Radios.index($0) }
    peers = arguments[CaptureCommand.peer]
    results = Results(arguments)
    file = try arguments[CommonOptions.capture].map { try CaptureFile(path: $0, .monitor) }
  }

  /// - Parameter adapter: nil for all.
  init(adapter: UInt16?, file: CaptureFile) {
    self.adapter = adapter
    peers = nil
    results = nil
    self.file = file
  }

  func run(on loop: Loop) async throws {
    if let adapter {
      let list = try await KernelAdapters(loop: loop).list()
      guard list.contains(where: { $0.index == adapter }) else {
        throw RadioError.noAdapter("hci\(adapter)")
      }
    }
    let view = MonitorView(self)
    let monitor: KernelMonitor
    do throws(RadioError) {
      monitor = try KernelMonitor(
        on: loop,
        onDropped: {
          Terminal.note(
            "warning: \(Shown.count($0, "record")) lost here: the kernel's buffer overflowed, so PDUs"
              + " may be missing")
        }, onRecord: { view.receive($0) })
    } catch {
      guard case .system(_, EPERM) = error else { throw error }
      let check = Diagnosis.closedMonitor
      throw Unreachable(message: check.text, hint: check.remedy)
    }
    file?.begin()
    if results != nil {
      Terminal.note(
        "capturing on \(adapter.map { "hci\($0)" } ?? "all adapters") (Ctrl-C ends the command)")
    }
    // Ctrl-C ends the sleep and with it the command.
    try? await loop.sleep(for: .seconds(1_000_000_000))
    monitor.stop()
  }
}

/// Shows and saves the monitor's records. Used on the loop's thread only.
private final class MonitorView {
  private let capture: MonitorCapture
  private var decoder = CaptureDecoder()
  private var peers = MonitoredPeers()
  private var count = 0
  private var exchanges = Exchanges()

  init(_ capture: MonitorCapture) { self.capture = capture }

  func receive(_ record: MonitorRecord) {
    // 0xFFFF: a record for all adapters.
    guard [nil, record.adapter].contains(capture.adapter) || record.adapter == 0xFFFF else {
      return
    }
    capture.file?.write(record)
    guard let results = capture.results else { return }
    count += 1
    peers.read(record)
    let found = decoder.decode(
      CaptureRecord(
        monitor: record.kind, adapter: record.adapter, octets: record.octets,
        isCut: record.missing > 0, number: count, time: record.time))
    if let found { show(found, record.time, to: results) }
  }

  private func show(_ found: CapturedPDU, _ time: Int64, to results: Results) {
    let handle = UInt16(truncatingIfNeeded: found.connection.handle)
    let peer = peers[found.connection.adapter, handle]
    if let shown = capture.peers {
      guard let peer, shown.contains(peer) else { return }
    }
    let adapter = "hci\(found.connection.adapter)"
    let text = exchanges[found].text(
      found.octets, mtu: found.mtu ?? .max, isSent: found.isSent)
    SeenPDU(
      time: time, isSent: found.isSent, bearer: found.bearer, octets: found.octets, text: text
    ).print(
      "\(adapter) \(peer?.description ?? "\(AttributeHandle(handle))")",
      json: ["adapter": adapter, "handle": Int(handle), "peer": peer?.description],
      to: results)
  }
}
