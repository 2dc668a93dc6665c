// The process that holds a connection to an MQTT broker with libmosquitto.
#pragma once

#include "Frames.h"

// Serves the gateway at the other end of a stream socket, which sends `Frames.h`, until the connection
// to the broker or to the gateway has ended. Uses the whole process and does not return.
//
// $ATTO_MOSQUITTO names a file other than libmosquitto.so.1; set-user-ID programs ignore it.
_Noreturn void cmosquitto_serve(int32_t socket);
