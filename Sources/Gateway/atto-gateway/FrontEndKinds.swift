import AttoESPHome
import AttoGateway
import AttoMQTT

extension FrontEndKind {
  /// The front ends of this program, in the order in which they start.
  static let all = [
    FrontEndKind(
      "esphome", isSame: { $0.esphome == $1.esphome && $0.name == $1.name },
      make: { configuration, hub in
        configuration.esphome.map {
          ESPHomeServer(
            $0, name: configuration.name, hub.identity, loop: hub.loop, log: hub.logging)
        }
      }),
    FrontEndKind(
      "mqtt",
      isSame: {
        $0.mqtt == $1.mqtt && $0.name == $1.name && $0.fleet == $1.fleet && $0.state == $1.state
          && $0.advertisements == $1.advertisements && $0.sensors == $1.sensors
          && $0.presence == $1.presence
          && $0.limits.connections == $1.limits.connections
          && ($0.metrics == $1.metrics || $0.mqtt?.homeAssistant != true)
      },
      make: { configuration, hub in
        configuration.mqtt.map { _ in
          MQTTFrontEnd(configuration, hub.identity, loop: hub.loop, log: hub.logging)
        }
      }),
  ]
}
