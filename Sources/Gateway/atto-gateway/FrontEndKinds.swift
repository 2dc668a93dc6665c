import AttoESPHome
import AttoGateway

extension FrontEndKind {
  /// The front ends of this program, in the order in which they start.
  static let all = [
    FrontEndKind(
      "esphome", isSame: { $0.esphome == $1.esphome && $0.name == $1.name },
      make: { configuration, hub in
        configuration.esphome.map {
          ESPHomeServer($0, name: configuration.name, loop: hub.loop, log: hub.logging)
        }
      })
  ]
}
