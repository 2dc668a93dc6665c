import Atto
import AttoVirtualRadio
import Glibc

/// Endpoints that exist on this machine now.
enum EndpointCandidates {
  typealias Candidate = CompletionRequest.Candidate

  /// Radios on the virtual air, sockets, and the other forms.
  static func peers(_ value: String) -> [Candidate] {
    if value.hasPrefix("unix:") { return sockets(String(value.dropFirst(5))) }
    return air + forms
  }

  static func places(_ value: String) -> [Candidate] {
    if value.hasPrefix("unix:") { return sockets(String(value.dropFirst(5))) }
    return [Candidate(text: "air:", summary: "The virtual air.")] + forms + kernel
  }

  static var radios: [Candidate] {
    [
      Candidate(text: "air:", summary: "The virtual air."),
      Candidate(text: "le:", summary: "The kernel's Bluetooth."),
    ] + kernel
  }

  private static let forms = [
    Candidate(text: "unix:", summary: "A Unix socket."),
    Candidate(text: "le:", summary: "The kernel's Bluetooth."),
    Candidate(text: "fd:", summary: "An inherited socket."),
  ]

  private static var kernel: [Candidate] {
    adapters.map { Candidate(text: "le:@\($0)", summary: "An adapter of the kernel.") }
  }

  /// The radios that accept connections, by name where it says which one is meant.
  private static var air: [Candidate] {
    let radios = PeerTarget.radiosOnAir().filter(\.isConnectable)
    let names = radios.map(\.name)
    return radios.map { radio in
      let isName =
        radio.name.printable == radio.name && !radio.name.contains("?")
        && names.count { $0 == radio.name } == 1
        && (try? PeerTarget(virtual: radio.name)) == .name(radio.name)
      return isName
        ? Candidate(text: "air:\(radio.name)", summary: radio.address.digits)
        : Candidate(text: "air:\(radio.address.digits)", summary: radio.name)
    }.sorted { $0.text < $1.text }
  }

  static var adapters: [String] {
    entries(of: "/sys/class/bluetooth") { name, _ in name.hasPrefix("hci") && !name.contains(":") }
      .map(\.name).sorted()
  }

  /// Sockets and folders whose paths begin with a text.
  private static func sockets(_ path: String) -> [Candidate] {
    let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
    let start = path.dropFirst(folder.count)
    let found = entries(of: folder.isEmpty ? "." : String(folder)) { name, kind in
      name.hasPrefix(start) && (kind == S_IFSOCK || kind == S_IFDIR)
        && (start.hasPrefix(".") || !name.hasPrefix("."))
    }
    return found.map { Candidate(text: "unix:\(folder)\($0.name)\($0.kind == S_IFDIR ? "/" : "")") }
      .sorted { $0.text < $1.text }
  }

  /// The entries of a folder that are wanted, by name and kind (`S_IFMT`). At most 10000 are looked at.
  private static func entries(
    of folder: String, _ isWanted: (String, mode_t) -> Bool
  ) -> [(name: String, kind: mode_t)] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var found: [(name: String, kind: mode_t)] = []
    for _ in 0..<10000 {
      guard let entry = readdir(stream) else { break }
      // The entry is valid until the next readdir(3), and d_name ends with a zero.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      var status = stat()
      guard name != ".", name != "..", stat("\(folder)/\(name)", &status) == 0 else { continue }
      let kind = status.st_mode & S_IFMT
      if isWanted(name, kind) { found.append((name, kind)) }
    }
    return found
  }
}
