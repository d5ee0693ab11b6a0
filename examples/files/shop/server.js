require("express")().listen(3000);
