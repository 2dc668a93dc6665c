import AttoText
import Glibc

/// Avahi, which answers questions of multicast DNS for all programs of a machine.
enum Avahi {
  /// Whether its daemon runs. It does not expect other responders on the machine.
  static var isRunning: Bool {
    guard let octets = try? FileBytes.read("/run/avahi-daemon/pid", waits: false),
      let process = Int32(String(decoding: octets.prefix { $0 != 0x0A }, as: UTF8.self)),
      process > 0
    else { return false }
    return kill(process, 0) == 0 || errno == EPERM
  }

  /// The content of a file in /etc/avahi/services that announces a service.
  static func file(of service: AnnouncedService) -> String {
    let texts = service.texts.map { key, value in
      "<txt-record>\(escaped("\(key)=\(value)"))</txt-record>"
    }
    return """
      <service-group><name>\(service.name)</name><service>
      <type>_esphomelib._tcp</type><port>\(service.port)</port>
      \(texts.joined(separator: "\n"))
      </service></service-group>
      """
  }

  private static func escaped(_ text: String) -> String {
    text.map { ["&": "&amp;", "<": "&lt;", ">": "&gt;"][$0] ?? String($0) }.joined()
  }
}
